// The core of an embedding: its values that are at least as large as their root mean square. In PIFA embeddings of
// texts a tenth to a fifth of the values are in the core, with three quarters or more of the squared length. So a split
// looks for its first sides by the cores alone (tree/split.hpp).
#pragma once

#include "labels/row_buffer.hpp"

namespace labeltrees {

double sum_of_squares(const float* values, int64_t n);

// Puts the cores first in sparse rows, whose columns are ascending.
// IN: from; it may have the columns and values of `to`, or others.
// OUT: to, the rows, each at the start that it already has there.
void put_cores_first(const LabelRows& from, RowBuffer& to, int n_threads);

}  // namespace labeltrees
