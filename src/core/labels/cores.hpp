// The core of an embedding: its values that are at least as large as their root mean square. In PIFA embeddings of
// texts a tenth to a fifth of the values are in the core, with three quarters or more of the squared length. So a split
// looks for its first sides by the cores alone (tree/split.hpp).
#pragma once

#include "labels/row_buffer.hpp"

namespace labeltrees {

double sum_of_squares(const float* values, int64_t n);

// Returns sparse rows, whose columns are ascending, with their cores first: in the same memory, or in a copy. Dense
// rows are returned as they are.
RowBuffer put_cores_first(RowBuffer rows, bool in_place, int n_threads);

}  // namespace labeltrees
