// A label tree as flat arrays: TreeView looks at them, TreeArrays owns them.
#pragma once

#include <cstdint>
#include <vector>

namespace labeltrees {

// IN: node i's children are children[child_ptr[i] .. child_ptr[i + 1]); >= 0 is a node, < 0 is ~label. The root is node
// 0, and in a valid tree a child's id is larger than its parent's.
struct TreeView {
  int64_t n_nodes;
  int64_t n_labels;
  const int64_t* child_ptr;  // n_nodes + 1
  const int32_t* children;
  int64_t children_size;  // entries of children; child_ptr[n_nodes] in a valid tree

  int64_t n_edges() const { return children_size; }
  int64_t n_children(int64_t node) const { return child_ptr[node + 1] - child_ptr[node]; }
};

// A view of two arrays of any type that has data() and size().
template <class Pointers, class Children>
TreeView view_tree(const Pointers& child_ptr, const Children& children, int64_t n_labels) {
  return {static_cast<int64_t>(child_ptr.size()) - 1, n_labels, child_ptr.data(), children.data(),
          static_cast<int64_t>(children.size())};
}

struct TreeArrays {
  std::vector<int64_t> child_ptr;
  std::vector<int32_t> children;
};

}  // namespace labeltrees
