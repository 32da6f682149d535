// Contraction by one fanout: turns a binary tree into a wide one, so that a search reads fewer chunks.
#pragma once

#include <cstdint>

#include "tree/view.hpp"

namespace labeltrees {

// From the root down: replaces the heaviest inner node among a node's children by its own children, again and again
// while the node then has at most `fanout` children.
// IN: mass (n_nodes); equal masses: the smaller node id first. With keep_leaves, nodes that hold only labels are kept.
// The left-to-right order of the labels does not change; nodes are numbered depth-first.
TreeArrays contract_tree(const TreeView& tree, const double* mass, int64_t fanout, bool keep_leaves);

}  // namespace labeltrees
