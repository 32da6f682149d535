// A binary tree with links from the labels up to the root, as training follows them.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/view.hpp"

namespace labeltrees {

// A link is parent << 1 | (1 if this is the parent's second child), or -1 at the root. A node with one child decides
// nothing, so links skip it.
class UpwardLinks {
 public:
  explicit UpwardLinks(const TreeView& tree)
      : of_node_(static_cast<size_t>(tree.n_nodes), -1), of_label_(static_cast<size_t>(tree.n_labels), kUnplaced) {
    for (int64_t node = 0; node < tree.n_nodes; ++node) {  // a parent comes before its children
      const int64_t begin = tree.child_ptr[node], n = tree.n_children(node);
      for (int64_t i = 0; i < n; ++i) {
        const int32_t child = tree.children[begin + i];
        const int32_t link = n == 1 ? of_node_[node] : static_cast<int32_t>(node << 1 | i);
        (child >= 0 ? of_node_[child] : of_label_[~child]) = link;
      }
    }
  }

  bool is_placed(int32_t label) const { return of_label_[label] != kUnplaced; }

  // OUT: nodes, the path from a label up to the root, the nearest node first; codes, which child (0 or 1) of each node
  // leads to the label.
  void path(int32_t label, std::vector<int32_t>& nodes, std::vector<float>& codes) const {
    nodes.clear();
    codes.clear();
    for (int32_t link = of_label_[label]; link >= 0; link = of_node_[link >> 1]) {
      nodes.push_back(link >> 1);
      codes.push_back(static_cast<float>(link & 1));
    }
  }

 private:
  static constexpr int32_t kUnplaced = -2;
  std::vector<int32_t> of_node_, of_label_;
};

}  // namespace labeltrees
