// PIFA label embeddings: v_l = sum of the points that have label l, scaled to unit length.
//
// Y^T X is computed label by label, so that memory holds only X, the points of each label, the result, and a few
// megabytes per thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/memory.hpp"
#include "common/threads.hpp"

namespace labeltrees::labels {

// The points of each label: label l has points[label_ptr[l] .. label_ptr[l + 1]).
struct LabelPoints {
  const int64_t* label_ptr;  // in, n_labels + 1
  const int32_t* points;     // in
  int64_t n_labels;
};

// X, sparse: columns are ascending and distinct in every row.
struct SparseRows {
  const int64_t* indptr;   // in
  const int32_t* indices;  // in
  const float* values;     // in
  int64_t n_columns;
};

struct SparseResult {
  std::vector<int64_t> indptr;
  GrowingArray<int32_t> indices;
  GrowingArray<float> values;
};

// OUT: rows of unit length, columns ascending. A column whose values sum to 0 is kept as a 0.
void pifa_sparse(const LabelPoints& labels, const SparseRows& x, int n_threads, SparseResult& out, Job& job);

// The same for dense X (row-major, n_columns wide). OUT: out (n_labels, n_columns), row-major.
void pifa_dense(const LabelPoints& labels, const float* x, int64_t n_columns, int n_threads, float* out, Job& job);

// Returns rows with the `most` values of largest magnitude of each row, columns ascending; of equal ones those with the
// smaller columns. Rows that have no more values are copied.
SparseResult largest_values(const SparseRows& rows, int64_t n_rows, int64_t most);

}  // namespace labeltrees::labels
