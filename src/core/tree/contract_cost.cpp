// Dynamic programming from the leaves up. For a node v let
//   whole(v)     be the least cost of v and all below it, if v is kept
//   apart(v, j)  be the least cost of what is below v, if v is not kept and hands j children up
//   pieces(v, j) be whole(v) for j = 1 and apart(v, j) for more; a label is one piece of cost 0
// Then apart(v, j) is the least sum of pieces(c, j_c) over v's children c with j in all, and
//   whole(v) = min over j of visits(v) * cost_of(j) + apart(v, j).
// Children are folded in one after the other. No table is longer than `most`, or than the labels below, so this takes
// O(n * most) steps, and a byte an entry to find the way back: nine bytes a label in a balanced tree.
#include "tree/contract_cost.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace labeltrees {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class CostContraction {
 public:
  CostContraction(const int64_t* child_ptr, const int32_t* children, int64_t n_nodes, const double* visits,
                  const double* cost_of, int64_t most, bool keep_leaves, Job& job)
      : child_ptr_(child_ptr),
        children_(children),
        visits_(visits),
        cost_of_(cost_of),
        most_(most),
        keep_leaves_(keep_leaves),
        job_(job),
        width_(n_nodes),
        fold_begin_(child_ptr[n_nodes] - n_nodes) {}

  TreeArrays run() {
    choose_widths();
    return gather();
  }

 private:
  struct Frame {
    int32_t node;
    int64_t next;   // child to fold in
    int64_t begin;  // of the table of the children folded in so far, in values_
    double below;   // in place of a table, where there are more than `most` children
  };
  struct Pending {
    int32_t node;
    int64_t pieces;
  };

  int64_t n_children(int32_t node) const { return child_ptr_[node + 1] - child_ptr_[node]; }
  bool is_too_wide(int32_t node) const { return n_children(node) > most_; }

  bool is_leaf(int32_t node) const {
    for (int64_t c = child_ptr_[node]; c < child_ptr_[node + 1]; ++c)
      if (children_[c] >= 0) return false;
    return true;
  }

  // The fold of the child at `position`, which is not its parent's first.
  int64_t& fold_of(int32_t node, int64_t position) { return fold_begin_[position - node - 1]; }

  // Entry t of a table is for t + 1 pieces. The tables of a path lie end to end in values_, so that a path of millions
  // of nodes is no harm; the last one is that of the child at hand.
  void choose_widths() {
    std::vector<Frame> path = {enter(0)};
    while (!path.empty()) {
      const Frame frame = path.back();
      if (frame.next == child_ptr_[frame.node + 1]) {
        job_.check();
        leave(frame);
        path.pop_back();
        if (!path.empty()) fold_in(path.back(), frame.begin);
      } else if (children_[frame.next] >= 0) {
        path.push_back(enter(children_[frame.next]));
      } else {
        values_.push_back(0.0);
        fold_in(path.back(), static_cast<int64_t>(values_.size()) - 1);
      }
    }
  }

  Frame enter(int32_t node) const { return {node, child_ptr_[node], static_cast<int64_t>(values_.size()), 0.0}; }

  // `begin`: of the child's table.
  void fold_in(Frame& frame, int64_t begin) {
    const int64_t position = frame.next++;
    if (is_too_wide(frame.node)) {
      frame.below += values_[begin];
      values_.resize(frame.begin);
    } else if (position > child_ptr_[frame.node]) {
      add(values_.data() + frame.begin, begin - frame.begin, static_cast<int64_t>(values_.size()) - begin);
      values_.resize(frame.begin);
      values_.insert(values_.end(), sums_.begin(), sums_.end());
      fold_of(frame.node, position) = static_cast<int64_t>(folds_.size());
      folds_.insert(folds_.end(), from_left_.begin(), from_left_.end());
    }
  }

  // sums_: the least sums of an entry of the left table and one of the right, which follows it; from_left_: which entry
  // of the left that is. Among equals the smallest.
  void add(const double* left, int64_t n_left, int64_t n_right) {
    const double* right = left + n_left;
    const int64_t n = std::min(n_left + n_right, most_);
    sums_.assign(n, kNever);
    from_left_.assign(n, 0);
    for (int64_t i = 0; i < n_left; ++i) {
      double* sums = sums_.data() + i + 1;
      uint8_t* from = from_left_.data() + i + 1;
      const int64_t n_fitting = std::min(n_right, n - 1 - i);
      for (int64_t j = 0; j < n_fitting; ++j) {
        const double sum = left[i] + right[j];
        if (sum < sums[j]) {
          sums[j] = sum;
          from[j] = static_cast<uint8_t>(i);
        }
      }
    }
  }

  // Turns the table of apart(v, .) into that of pieces(v, .).
  void leave(const Frame& frame) {
    const int32_t node = frame.node;
    const bool is_fixed = is_too_wide(node) || (keep_leaves_ && is_leaf(node));
    if (is_fixed) {
      values_.resize(frame.begin);
      values_.push_back(frame.below + visits_[node] * cost_of_[n_children(node)]);
      width_[node] = static_cast<int32_t>(n_children(node));
      return;
    }
    double* apart = values_.data() + frame.begin;
    const int64_t n = static_cast<int64_t>(values_.size()) - frame.begin;
    double whole = kNever;
    for (int64_t j = 1; j <= n; ++j) {
      const double cost = visits_[node] * cost_of_[j] + apart[j - 1];
      if (cost <= whole) {
        whole = cost;
        width_[node] = static_cast<int32_t>(j);
      }
    }
    // One child: it can stand for the node.
    if (node != 0 && apart[0] <= whole)
      width_[node] = 0;
    else
      apart[0] = whole;
  }

  TreeArrays gather() {
    TreeArrays tree;
    tree.child_ptr.push_back(0);
    std::vector<std::pair<int32_t, int64_t>> kept = {{0, -1}};  // node, its place in children
    while (!kept.empty()) {
      const auto [node, place] = kept.back();
      kept.pop_back();
      if (place >= 0) tree.children[place] = static_cast<int32_t>(tree.child_ptr.size() - 1);
      const auto first = static_cast<int64_t>(tree.children.size());
      append_children(node, tree.children);
      tree.child_ptr.push_back(static_cast<int64_t>(tree.children.size()));
      for (auto at = static_cast<int64_t>(tree.children.size()) - 1; at >= first; --at)
        if (tree.children[at] >= 0) kept.push_back({tree.children[at], at});
    }
    return tree;
  }

  void append_children(int32_t node, std::vector<int32_t>& out) {
    if (is_too_wide(node)) {
      for (int64_t c = child_ptr_[node]; c < child_ptr_[node + 1]; ++c) out.push_back(standing_for(children_[c]));
      return;
    }
    open(node, width_[node]);
    while (!pending_.empty()) {
      const Pending at = pending_.back();
      pending_.pop_back();
      if (at.node >= 0 && (at.pieces > 1 || width_[at.node] == 0))
        open(at.node, at.pieces);
      else
        out.push_back(at.node);
    }
  }

  int32_t standing_for(int32_t child) const {
    while (child >= 0 && width_[child] == 0) child = children_[child_ptr_[child]];
    return child;
  }

  // Puts the children of `node` on the stack, the first on top, each with its share of the pieces.
  void open(int32_t node, int64_t pieces) {
    for (int64_t c = child_ptr_[node + 1] - 1; c > child_ptr_[node]; --c) {
      const int64_t left = folds_[fold_of(node, c) + pieces - 1] + int64_t{1};
      pending_.push_back({children_[c], pieces - left});
      pieces = left;
    }
    pending_.push_back({children_[child_ptr_[node]], pieces});
  }

  const int64_t* child_ptr_;
  const int32_t* children_;
  const double* visits_;
  const double* cost_of_;
  const int64_t most_;
  const bool keep_leaves_;
  Job& job_;
  std::vector<int32_t> width_;       // children if kept; 0: its one child stands for it
  std::vector<int64_t> fold_begin_;  // in folds_
  std::vector<uint8_t> folds_;       // from_left_ of every fold
  std::vector<double> values_, sums_;
  std::vector<uint8_t> from_left_;
  std::vector<Pending> pending_;
};

}  // namespace

TreeArrays contract_for_cost(const int64_t* child_ptr, const int32_t* children, int64_t n_nodes, const double* visits,
                             const double* cost_of, int64_t most, bool keep_leaves, Job& job) {
  return CostContraction(child_ptr, children, n_nodes, visits, cost_of, most, keep_leaves, job).run();
}

}  // namespace labeltrees
