// Single passes over a label tree's flat arrays. A child's id is larger than its parent's, so a walk in order of id
// goes from the root down and a walk against it from the leaves up; nothing here recurses, whatever the height.
#pragma once

#include <cstdint>

#include "tree/view.hpp"

namespace labeltrees {

enum class TreeFault : int {
  none = 0,
  no_children = 1,        // child_ptr does not rise at this node
  node_out_of_range = 2,  // a child that is no node of the tree
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

// Checks a tree and finds every parent. This is the one function here that does not trust its input: it needs only
// child_ptr[0] == 0, child_ptr[n_nodes] == size of children, and n_nodes > 0.
// OUT: parent (n_nodes), -1 for the root; label_parent (n_labels), -1 for a label the tree does not hold.
TreeCheck find_parents(const TreeView& tree, int32_t* parent, int32_t* label_parent);

// OUT: node_depth (n_nodes), label_depth (n_labels): edges from the root, -1 for a label the tree does not hold.
void find_depths(const TreeView& tree, const int32_t* parent, const int32_t* label_parent, int32_t* node_depth,
                 int32_t* label_depth);

// OUT: total (n_nodes): the sum of weights (n_labels) over the labels below each node. Weight is double or int64_t.
template <class Weight>
void sum_below(const TreeView& tree, const int32_t* parent, const Weight* weights, Weight* total);

// OUT: order: the labels from left to right, as many as the tree holds; start (n_nodes): where in order those below
// each node start. IN: n_below, the labels below each node.
void find_leaf_order(const TreeView& tree, const int64_t* n_below, int64_t* start, int32_t* order);

// Numbers the nodes breadth-first, within a level by falling mass, ties as they appear; the order of a node's children
// stays. Needs every node to be the child of at most one node and the root of none, but not that a child's id is larger
// than its parent's. Returns how many nodes the root reaches: fewer than n_nodes if some hang in a circle.
// OUT: new_child_ptr (n_nodes + 1), new_children, old_ids (n_nodes): the old id of each node.
int64_t renumber_nodes(const TreeView& tree, const double* mass, int64_t* new_child_ptr, int32_t* new_children,
                       int32_t* old_ids);

}  // namespace labeltrees
