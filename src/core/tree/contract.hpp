// Contraction: turns a binary tree into a wide one, so that a search reads fewer chunks.
#pragma once

#include <cstdint>

#include "common/threads.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::tree {

// From the root down: replaces the heaviest inner node among a node's children by its own children, again and again
// while the node then has at most `fanout` children.
// IN: mass (n_nodes); equal masses: the smaller node id first. With keep_leaves, nodes that hold only labels are kept.
// The left-to-right order of the labels does not change; nodes are numbered depth-first.
TreeArrays contract_tree(const TreeView& tree, const double* mass, int64_t fanout, bool keep_leaves);

// Contraction to the lowest expected cost of a search (fanout="auto").
//
// Chooses which nodes to keep so that
//   sum over kept nodes of visits[node] * cost_of[number of its children]
// is as small as possible with at most max_children children per node. The root is kept; the children of a node that
// is not kept move up to its nearest kept ancestor. The result is exact for any cost_of.
//
// IN: visits (n_nodes), how often a search visits a node, >= 0; cost_of, >= 0, indexed by a number of children up to
// the larger of max_children and the widest node; max_children in [2, 256]. A node that is already wider keeps its
// children, and contraction starts again below it. With keep_leaves, nodes that hold only labels are kept.
// `job` can cancel it: ten million labels take eight seconds.
// Equal costs: the wider node. The left-to-right order of the labels does not change; nodes are numbered depth-first.
TreeArrays contract_for_cost(const TreeView& tree, const double* visits, const double* cost_of, int64_t max_children,
                             bool keep_leaves, Job& job);

}  // namespace labeltrees::tree
