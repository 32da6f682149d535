// The labels of a node as rows with their embeddings and weights: the input of a split.
#pragma once

#include <cstdint>

namespace labeltrees {

struct LabelRow {
  int64_t start;   // of its embedding in `columns` and `values`
  int32_t length;  // of its embedding
  int32_t core;    // values of the embedding that belong to its core (labels/cores.hpp); they are the first ones
  int32_t label;
  double weight;  // f_l(tradeoff), not normalised over the node
};

// Rows are in ascending order of label, so that the smaller label id is the earlier row.
struct LabelRows {
  const LabelRow* rows;
  int64_t n;
  const int32_t* columns;  // ascending within the core and within the rest; null for dense rows of n_columns values
  const float* values;
  int32_t n_columns;
};

// Work is cut into blocks of this many rows or columns for any number of threads, so that sums do not depend on it.
constexpr int64_t kBlock = 16384;

inline int64_t n_blocks(int64_t n, int64_t size = kBlock) { return (n + size - 1) / size; }

// Work whose result does not depend on the blocks is cut into smaller ones: a few thousand labels may have long rows.
constexpr int64_t kFewRows = 128;

}  // namespace labeltrees
