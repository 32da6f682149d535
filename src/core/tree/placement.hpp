// Where new labels belong in a tree.
#pragma once

#include <cstdint>

#include "common/threads.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::tree {

// The embeddings (unit rows) and weights of all labels. Old labels without weight have no part in the centres.
struct PlacementRows {
  const int64_t* indptr;
  const int32_t* columns;
  const float* values;
  int64_t n_columns;
  const double* weights;
};

// From the root down, a label v of weight f goes to the child c with the highest
//   similarity * v.m_c - frequency * |f - f_c| / (weight of the node),
// with m_c the unit centre of the weighted labels below c and f_c their mean weight; equal: the first child. Where the
// best child is a label, the node is the new label's home.
// IN: order, start, n_below: the old labels below each node, as from find_leaf_order.
// IN: labels, OUT: homes (n_labels).
void find_homes(const TreeView& tree, const int32_t* order, const int64_t* start, const int64_t* n_below,
                const PlacementRows& rows, double similarity, double frequency, const int32_t* labels, int64_t n_labels,
                int64_t* homes, int n_threads);

}  // namespace labeltrees::tree
