#include "tree/contract.hpp"

#include <algorithm>
#include <queue>

namespace labeltrees {

namespace {

class Contraction {
 public:
  Contraction(const int64_t* child_ptr, const int32_t* children, const double* mass, int64_t fanout, bool keep_leaves)
      : child_ptr_(child_ptr), children_(children), mass_(mass), fanout_(fanout), keep_leaves_(keep_leaves) {}

  TreeArrays run() {
    TreeArrays tree;
    tree.child_ptr.push_back(0);
    struct Pending {
      int32_t node;
      int64_t slot;
    };
    std::vector<Pending> stack = {{0, -1}};
    while (!stack.empty()) {
      const auto [node, slot] = stack.back();
      stack.pop_back();
      if (slot >= 0) tree.children[slot] = static_cast<int32_t>(tree.child_ptr.size() - 1);
      choose_opened(node);
      const auto first = static_cast<int64_t>(tree.children.size());
      append_children(node, tree.children);
      tree.child_ptr.push_back(static_cast<int64_t>(tree.children.size()));
      for (auto slot = static_cast<int64_t>(tree.children.size()) - 1; slot >= first; --slot)
        if (tree.children[slot] >= 0) stack.push_back({tree.children[slot], slot});
    }
    return tree;
  }

 private:
  int64_t n_children(int32_t node) const { return child_ptr_[node + 1] - child_ptr_[node]; }

  bool may_open(int32_t node) const {
    if (!keep_leaves_) return true;
    for (int64_t c = child_ptr_[node]; c < child_ptr_[node + 1]; ++c)
      if (children_[c] >= 0) return true;
    return false;
  }

  // opened_: the nodes below `node` whose children move up to it, sorted.
  void choose_opened(int32_t node) {
    auto lighter = [this](int32_t a, int32_t b) { return mass_[a] != mass_[b] ? mass_[a] < mass_[b] : a > b; };
    std::priority_queue<int32_t, std::vector<int32_t>, decltype(lighter)> heaviest(lighter);
    auto offer = [&](int32_t parent) {
      for (int64_t c = child_ptr_[parent]; c < child_ptr_[parent + 1]; ++c)
        if (children_[c] >= 0 && may_open(children_[c])) heaviest.push(children_[c]);
    };
    opened_.clear();
    offer(node);
    int64_t count = n_children(node);
    while (!heaviest.empty() && count + 1 <= fanout_) {
      const int32_t top = heaviest.top();
      heaviest.pop();
      const int64_t grown = count - 1 + n_children(top);
      if (grown > fanout_) continue;
      count = grown;
      opened_.push_back(top);
      offer(top);
    }
    std::sort(opened_.begin(), opened_.end());
  }

  void append_children(int32_t node, std::vector<int32_t>& out) {
    walk_.assign(1, node);
    bool first = true;
    while (!walk_.empty()) {
      const int32_t at = walk_.back();
      walk_.pop_back();
      if (first || (at >= 0 && std::binary_search(opened_.begin(), opened_.end(), at)))
        for (int64_t c = child_ptr_[at + 1] - 1; c >= child_ptr_[at]; --c) walk_.push_back(children_[c]);
      else
        out.push_back(at);
      first = false;
    }
  }

  const int64_t* child_ptr_;
  const int32_t* children_;
  const double* mass_;
  const int64_t fanout_;
  const bool keep_leaves_;
  std::vector<int32_t> opened_, walk_;
};

}  // namespace

TreeArrays contract_tree(const int64_t* child_ptr, const int32_t* children, const double* mass, int64_t fanout,
                         bool keep_leaves) {
  return Contraction(child_ptr, children, mass, fanout, keep_leaves).run();
}

}  // namespace labeltrees
