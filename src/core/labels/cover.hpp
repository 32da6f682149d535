// Greedy cover of the points by labels, over a 0/1 matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"

namespace labeltrees::labels {

// A 0/1 matrix as the sorted column ids of each row: Y without its values.
struct Indicator {
  const int64_t* indptr;   // in, n_rows + 1
  const int32_t* indices;  // in, indptr[n_rows]
  int64_t n_rows;
  int64_t n_columns;
};

// OUT: column_ptr (n_columns + 1) and rows: column c has the rows rows[column_ptr[c] .. column_ptr[c + 1]), ascending.
// A counting sort: O(rows + columns + entries).
inline void transpose(const Indicator& matrix, std::vector<int64_t>& column_ptr, std::vector<int32_t>& rows) {
  const int64_t n_entries = matrix.indptr[matrix.n_rows];
  column_ptr.assign(matrix.n_columns + 1, 0);
  for (int64_t entry = 0; entry < n_entries; ++entry) ++column_ptr[matrix.indices[entry] + 1];
  for (int64_t column = 0; column < matrix.n_columns; ++column) column_ptr[column + 1] += column_ptr[column];
  rows.resize(n_entries);
  // column_ptr[c] moves from the start of column c to its end; afterwards all are shifted back by one.
  for (int64_t row = 0; row < matrix.n_rows; ++row)
    for (int64_t entry = matrix.indptr[row]; entry < matrix.indptr[row + 1]; ++entry)
      rows[column_ptr[matrix.indices[entry]]++] = static_cast<int32_t>(row);
  for (int64_t column = matrix.n_columns; column > 0; --column) column_ptr[column] = column_ptr[column - 1];
  column_ptr[0] = 0;
}

// Greedy cover of the points by labels (the paper's Algorithm 1), nearly linear in the number of label occurrences.
//
// Repeats: the label whose remaining points weigh most takes their weight, and its points are removed. Equal weights:
// the smaller label id.
//
// IN: matrix, one row per point and one column per label; point_weights (n_rows), finite, >= 0; whole_weights, whether
// all weights are whole numbers with a total below 2^53, so that sums in any order are exact.
// OUT: covered (n_columns), the weight each label took: the sum, in the order of points, over its remaining points.
void greedy_cover(const Indicator& matrix, const double* point_weights, bool whole_weights, double* covered, Job& job);

}  // namespace labeltrees::labels
