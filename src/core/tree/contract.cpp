#include "tree/contract.hpp"

#include <algorithm>
#include <queue>

namespace labeltrees::tree {

namespace {

class Contraction {
 public:
  Contraction(const TreeView& tree, const double* mass, int64_t fanout, bool keep_leaves)
      : tree_(tree), mass_(mass), fanout_(fanout), keep_leaves_(keep_leaves) {}

  TreeArrays run() {
    TreeArrays wide;
    wide.child_ptr.push_back(0);
    struct Pending {
      int32_t node;
      int64_t slot;  // of wide.children, where its parent refers to it
    };
    std::vector<Pending> stack = {{0, -1}};
    while (!stack.empty()) {
      const auto [node, slot] = stack.back();
      stack.pop_back();
      if (slot >= 0) wide.children[slot] = static_cast<int32_t>(wide.child_ptr.size() - 1);
      choose_opened(node);
      const auto first = static_cast<int64_t>(wide.children.size());
      append_children(node, wide.children);
      wide.child_ptr.push_back(static_cast<int64_t>(wide.children.size()));
      for (auto slot = static_cast<int64_t>(wide.children.size()) - 1; slot >= first; --slot)
        if (wide.children[slot] >= 0) stack.push_back({wide.children[slot], slot});
    }
    return wide;
  }

 private:
  bool may_open(int32_t node) const {
    if (!keep_leaves_) return true;
    for (int64_t c = tree_.child_ptr[node]; c < tree_.child_ptr[node + 1]; ++c)
      if (tree_.children[c] >= 0) return true;
    return false;
  }

  // Sets opened_ to the nodes below `node` whose children move up to it, sorted.
  void choose_opened(int32_t node) {
    auto lighter = [this](int32_t a, int32_t b) { return mass_[a] != mass_[b] ? mass_[a] < mass_[b] : a > b; };
    std::priority_queue<int32_t, std::vector<int32_t>, decltype(lighter)> heaviest(lighter);
    auto offer = [&](int32_t parent) {
      for (int64_t c = tree_.child_ptr[parent]; c < tree_.child_ptr[parent + 1]; ++c)
        if (tree_.children[c] >= 0 && may_open(tree_.children[c])) heaviest.push(tree_.children[c]);
    };
    opened_.clear();
    offer(node);
    int64_t count = tree_.n_children(node);
    while (!heaviest.empty() && count + 1 <= fanout_) {
      const int32_t top = heaviest.top();
      heaviest.pop();
      const int64_t grown = count - 1 + tree_.n_children(top);
      if (grown > fanout_) continue;
      count = grown;
      opened_.push_back(top);
      offer(top);
    }
    std::sort(opened_.begin(), opened_.end());
  }

  // Appends the children of `node` after contraction, from left to right.
  void append_children(int32_t node, std::vector<int32_t>& out) {
    walk_.assign(1, node);
    bool first = true;
    while (!walk_.empty()) {
      const int32_t at = walk_.back();
      walk_.pop_back();
      if (first || (at >= 0 && std::binary_search(opened_.begin(), opened_.end(), at)))
        for (int64_t c = tree_.child_ptr[at + 1] - 1; c >= tree_.child_ptr[at]; --c) walk_.push_back(tree_.children[c]);
      else
        out.push_back(at);
      first = false;
    }
  }

  const TreeView tree_;
  const double* mass_;
  const int64_t fanout_;
  const bool keep_leaves_;
  std::vector<int32_t> opened_, walk_;
};

}  // namespace

TreeArrays contract_tree(const TreeView& tree, const double* mass, int64_t fanout, bool keep_leaves) {
  return Contraction(tree, mass, fanout, keep_leaves).run();
}

}  // namespace labeltrees::tree
