// Dynamic programming from the leaves up. For a node v let
//   kept(v)     be the lowest cost of v and everything below it if v is kept
//   apart(v, j) be the lowest cost of what is below v if v is not kept and j children move up to v's parent
//   up(v, j)    be kept(v) for j = 1 and apart(v, j) for more; a label has up(label, 1) = 0
// Then apart(v, j) is the lowest sum of up(c, j_c) over v's children c with sum of j_c = j, and
//   kept(v) = min over j of visits(v) * cost_of(j) + apart(v, j).
// Children are added to the table one after the other. A table has at most max_children entries, and at most one per
// label below, so the time is O(n * max_children). One byte per entry records the choice: nine bytes per label in a
// balanced tree.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tree/contract.hpp"

namespace labeltrees::tree {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class CostContraction {
 public:
  CostContraction(const TreeView& tree, const double* visits, const double* cost_of, int64_t max_children,
                  bool keep_leaves, Job& job)
      : tree_(tree),
        visits_(visits),
        cost_of_(cost_of),
        max_children_(max_children),
        keep_leaves_(keep_leaves),
        job_(job),
        width_(tree.n_nodes),
        fold_begin_(tree.n_edges() - tree.n_nodes) {}

  TreeArrays run() {
    choose_widths();
    return gather();
  }

 private:
  struct Frame {
    int32_t node;
    int64_t next;       // position of the next child to add
    int64_t begin;      // in values_, of the table of the children added so far
    double cost_below;  // replaces the table if there are more than max_children children
  };
  struct Pending {
    int32_t node;
    int64_t n_up;
  };

  bool is_too_wide(int32_t node) const { return tree_.n_children(node) > max_children_; }

  bool is_leaf(int32_t node) const {
    for (int64_t c = tree_.child_ptr[node]; c < tree_.child_ptr[node + 1]; ++c)
      if (tree_.children[c] >= 0) return false;
    return true;
  }

  // The recorded choices for the child at `position`, which is not its parent's first.
  int64_t& fold_of(int32_t node, int64_t position) { return fold_begin_[position - node - 1]; }

  // Walks the tree depth-first and sets width_. Entry t of a table is for t + 1 children moving up. The tables of the
  // current path lie end to end in values_, so that a path may have millions of nodes; the last table is the one of
  // the child that was finished last.
  void choose_widths() {
    std::vector<Frame> path = {enter(0)};
    while (!path.empty()) {
      const Frame frame = path.back();
      if (frame.next == tree_.child_ptr[frame.node + 1]) {
        job_.check();
        leave(frame);
        path.pop_back();
        if (!path.empty()) fold_in(path.back(), frame.begin);
      } else if (tree_.children[frame.next] >= 0) {
        path.push_back(enter(tree_.children[frame.next]));
      } else {
        values_.push_back(0.0);
        fold_in(path.back(), static_cast<int64_t>(values_.size()) - 1);
      }
    }
  }

  Frame enter(int32_t node) const { return {node, tree_.child_ptr[node], static_cast<int64_t>(values_.size()), 0.0}; }

  // Adds the next child's table, which starts at `begin`, to the table of its parent.
  void fold_in(Frame& frame, int64_t begin) {
    const int64_t position = frame.next++;
    if (is_too_wide(frame.node)) {
      frame.cost_below += values_[begin];
      values_.resize(frame.begin);
    } else if (position > tree_.child_ptr[frame.node]) {
      add(values_.data() + frame.begin, begin - frame.begin, static_cast<int64_t>(values_.size()) - begin);
      values_.resize(frame.begin);
      values_.insert(values_.end(), sums_.begin(), sums_.end());
      fold_of(frame.node, position) = static_cast<int64_t>(folds_.size());
      folds_.insert(folds_.end(), from_left_.begin(), from_left_.end());
    }
  }

  // OUT: sums_[t], the lowest sum of an entry of the left table and one of the right table, which follows it, for
  // t + 1 children in all; from_left_[t], the entry of the left table in that sum, the smallest among equals.
  void add(const double* left, int64_t n_left, int64_t n_right) {
    const double* right = left + n_left;
    const int64_t n = std::min(n_left + n_right, max_children_);
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

  // Turns the table of apart(v, .) into the one of up(v, .) and sets the width of v.
  void leave(const Frame& frame) {
    const int32_t node = frame.node;
    const bool is_fixed = is_too_wide(node) || (keep_leaves_ && is_leaf(node));
    if (is_fixed) {
      values_.resize(frame.begin);
      values_.push_back(frame.cost_below + visits_[node] * cost_of_[tree_.n_children(node)]);
      width_[node] = static_cast<int32_t>(tree_.n_children(node));
      return;
    }
    double* apart = values_.data() + frame.begin;
    const int64_t n = static_cast<int64_t>(values_.size()) - frame.begin;
    double kept = kNever;
    for (int64_t j = 1; j <= n; ++j) {
      const double cost = visits_[node] * cost_of_[j] + apart[j - 1];
      if (cost <= kept) {
        kept = cost;
        width_[node] = static_cast<int32_t>(j);
      }
    }
    // A node with one child can be replaced by it.
    if (node != 0 && apart[0] <= kept)
      width_[node] = 0;
    else
      apart[0] = kept;
  }

  // The kept nodes as a tree.
  TreeArrays gather() {
    TreeArrays wide;
    wide.child_ptr.push_back(0);
    std::vector<std::pair<int32_t, int64_t>> kept = {{0, -1}};  // node, its position in wide.children
    while (!kept.empty()) {
      const auto [node, place] = kept.back();
      kept.pop_back();
      if (place >= 0) wide.children[place] = static_cast<int32_t>(wide.child_ptr.size() - 1);
      const auto first = static_cast<int64_t>(wide.children.size());
      append_children(node, wide.children);
      wide.child_ptr.push_back(static_cast<int64_t>(wide.children.size()));
      for (auto at = static_cast<int64_t>(wide.children.size()) - 1; at >= first; --at)
        if (wide.children[at] >= 0) kept.push_back({wide.children[at], at});
    }
    return wide;
  }

  void append_children(int32_t node, std::vector<int32_t>& out) {
    if (is_too_wide(node)) {
      for (int64_t c = tree_.child_ptr[node]; c < tree_.child_ptr[node + 1]; ++c)
        out.push_back(replacement_of(tree_.children[c]));
      return;
    }
    open(node, width_[node]);
    while (!pending_.empty()) {
      const Pending at = pending_.back();
      pending_.pop_back();
      if (at.node >= 0 && (at.n_up > 1 || width_[at.node] == 0))
        open(at.node, at.n_up);
      else
        out.push_back(at.node);
    }
  }

  int32_t replacement_of(int32_t child) const {
    while (child >= 0 && width_[child] == 0) child = tree_.children[tree_.child_ptr[child]];
    return child;
  }

  // Puts the children of `node` on the stack, the first on top, each with the number of children that move up from it:
  // n_up in all.
  void open(int32_t node, int64_t n_up) {
    for (int64_t c = tree_.child_ptr[node + 1] - 1; c > tree_.child_ptr[node]; --c) {
      const int64_t left = folds_[fold_of(node, c) + n_up - 1] + int64_t{1};
      pending_.push_back({tree_.children[c], n_up - left});
      n_up = left;
    }
    pending_.push_back({tree_.children[tree_.child_ptr[node]], n_up});
  }

  const TreeView tree_;
  const double* visits_;
  const double* cost_of_;
  const int64_t max_children_;
  const bool keep_leaves_;
  Job& job_;
  std::vector<int32_t> width_;       // number of children if kept; 0: replaced by its only child
  std::vector<int64_t> fold_begin_;  // in folds_
  std::vector<uint8_t> folds_;       // from_left_ of every child added
  std::vector<double> values_, sums_;
  std::vector<uint8_t> from_left_;
  std::vector<Pending> pending_;
};

}  // namespace

TreeArrays contract_for_cost(const TreeView& tree, const double* visits, const double* cost_of, int64_t max_children,
                             bool keep_leaves, Job& job) {
  return CostContraction(tree, visits, cost_of, max_children, keep_leaves, job).run();
}

}  // namespace labeltrees::tree
