// A label tree as flat arrays: TreeView looks at them, TreeArrays owns them.
#pragma once

#include <cstdint>
#include <vector>

namespace labeltrees::tree {

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

// Single passes over the flat arrays of a label tree: check, parents, depths, sums, leaf order and renumbering.
//
// A child's id is larger than its parent's, so a loop over rising ids goes from the root down, and a loop over falling
// ids from the leaves up. Nothing here recurses, so a tree may have any height.

// The faults that find_parents reports.
enum class TreeFault : int {
  none = 0,
  no_children = 1,        // child_ptr does not rise at this node
  node_out_of_range = 2,  // a child id that is not below n_nodes
  not_below = 3,          // a child whose id is not larger than its parent's
  node_twice = 4,
  label_out_of_range = 5,
  label_twice = 6,
  no_parent = 7,
};

struct TreeCheck {
  TreeFault fault = TreeFault::none;
  int64_t node = -1;
  int64_t position = -1;  // in children
};

// Checks a tree and finds every parent. This is the only function here that does not trust its input: it needs
// child_ptr[0] == 0, child_ptr[n_nodes] == children_size and n_nodes > 0, and checks everything else.
// OUT: parent (n_nodes), -1 for the root; label_parent (n_labels), -1 for a label that is not in the tree.
TreeCheck find_parents(const TreeView& tree, int32_t* parent, int32_t* label_parent);

// OUT: node_depth (n_nodes), label_depth (n_labels): edges from the root, -1 for a label that is not in the tree.
void find_depths(const TreeView& tree, const int32_t* parent, const int32_t* label_parent, int32_t* node_depth,
                 int32_t* label_depth);

// OUT: total (n_nodes): the sum of weights (n_labels) over the labels below each node. Weight is double or int64_t.
template <class Weight>
void sum_below(const TreeView& tree, const int32_t* parent, const Weight* weights, Weight* total);

// IN: n_below (n_nodes), the number of labels below each node.
// OUT: order, the labels of the tree from left to right; start (n_nodes), the position in order of the first label
// below each node.
void find_leaf_order(const TreeView& tree, const int64_t* n_below, int64_t* start, int32_t* order);

// Numbers the nodes breadth-first, within a level by falling mass (n_nodes), equal masses from left to right. The order
// of a node's children does not change. Every node must be the child of at most one node and the root of none, but a
// child's id need not be larger than its parent's. Returns the number of nodes that can be reached from the root: fewer
// than n_nodes if some nodes form a cycle.
// OUT: new_child_ptr (n_nodes + 1), new_children, old_ids (n_nodes): the old id of each new node.
int64_t renumber_nodes(const TreeView& tree, const double* mass, int64_t* new_child_ptr, int32_t* new_children,
                       int32_t* old_ids);

}  // namespace labeltrees::tree
