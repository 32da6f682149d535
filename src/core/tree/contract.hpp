// Contraction: a binary tree made wide, so that a search touches few chunks.
#pragma once

#include <cstdint>

#include "tree/builder.hpp"

namespace labeltrees {

// From the root down: opens the heaviest node among a node's children again and again while no more than `fanout`
// children then stand side by side. mass (n_nodes,); ties go to the smaller node id. Where keep_leaves, nodes that hold
// only labels are never opened. Children stay in their order from left to right; nodes are numbered depth-first.
TreeArrays contract_tree(const int64_t* child_ptr, const int32_t* children, const double* mass, int64_t fanout,
                         bool keep_leaves);

}  // namespace labeltrees
