// Contraction for the least expected cost of a search.
#pragma once

#include <cstdint>

#include "common/threads.hpp"
#include "tree/builder.hpp"

namespace labeltrees {

// Which nodes to keep, so that the sum over kept nodes of visits[node] * cost_of[number of its children] is the least
// there is, with no more than `most` children a node. The root is kept; the children of a node that is not kept move up
// to its nearest kept ancestor. Exact, for any cost_of.
//
// IN: visits (n_nodes,), how often a search visits a node, at least 0; cost_of (at least `most` and the largest node's
// children, + 1), at least 0; most in [2, 256]. A node that has more children already keeps them and what is below it
// begins anew. Where keep_leaves, nodes that hold only labels are kept as they are.
// Can be stopped through `job`: ten million labels take eight seconds.
// Ties go to the wider node. Children stay in their order from left to right; nodes are numbered depth-first.
TreeArrays contract_for_cost(const int64_t* child_ptr, const int32_t* children, int64_t n_nodes, const double* visits,
                             const double* cost_of, int64_t most, bool keep_leaves, Job& job);

}  // namespace labeltrees
