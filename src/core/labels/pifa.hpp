// PIFA label embeddings: v_l = sum of the points that carry l, made unit length. Y^T X label by label, so that nothing
// is held but X, the points of each label, the result, and some megabytes a thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/growing_array.hpp"
#include "common/threads.hpp"

namespace labeltrees {

// The points of each label: label l has points[label_ptr[l] .. label_ptr[l + 1]).
struct LabelPoints {
  const int64_t* label_ptr;  // in, n_labels + 1
  const int32_t* points;     // in
  int64_t n_labels;
};

// X, sparse: columns ascending and distinct in every row.
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

// Rows of unit length, columns ascending. A column whose values cancel stays, as 0.
void pifa_sparse(const LabelPoints& labels, const SparseRows& x, int n_threads, SparseResult& out, Job& job);

// The same for dense X (row-major, n_columns wide); out is dense (n_labels, n_columns).
void pifa_dense(const LabelPoints& labels, const float* x, int64_t n_columns, int n_threads, float* out, Job& job);

}  // namespace labeltrees
