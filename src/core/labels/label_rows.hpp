// The labels of a node as rows with their embeddings and weights: the input of a split.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace labeltrees::labels {

struct LabelRow {
  int64_t start;   // of its embedding in `columns` and `values`
  int32_t length;  // of its embedding
  int32_t core;    // values of the embedding that belong to its core (put_cores_first); they are the first ones
  int32_t label;
  int32_t copies;  // number of labels that it represents in a sample
  double weight;   // f_l(tradeoff), not normalised over the node; of all copies together
};

// Rows are in ascending order of label, so that the smaller label id is the earlier row.
struct LabelRows {
  const LabelRow* rows;
  int64_t n;
  const int32_t* columns;  // ascending within the core and within the rest; null for dense rows of n_columns values
  const float* values;
  int32_t n_columns;
};

// Work is cut into blocks of this many rows or columns. The size is the same for any number of threads, so that sums
// are too.
constexpr int64_t kBlock = 16384;

inline int64_t n_blocks(int64_t n, int64_t size = kBlock) { return (n + size - 1) / size; }

// Smaller blocks, for work whose result does not depend on them: even a few thousand labels may have long rows.
constexpr int64_t kFewRows = 128;

// Memory for the rows of labels. Columns and values are owned, or borrowed from the caller.
struct RowBuffer {
  std::vector<LabelRow> rows;
  int32_t* columns = nullptr;  // null for dense rows
  float* values = nullptr;

  // For sparse rows.
  void allocate(int64_t n_values) {
    own_columns_.reset(new int32_t[n_values]);
    own_values_.reset(new float[n_values]);
    columns = own_columns_.get();
    values = own_values_.get();
  }

  LabelRows view(int32_t n_columns) const {
    return {rows.data(), static_cast<int64_t>(rows.size()), columns, values, n_columns};
  }

 private:
  std::unique_ptr<int32_t[]> own_columns_;
  std::unique_ptr<float[]> own_values_;
};

// The core of an embedding: its values that are at least as large as their root mean square. In PIFA embeddings of
// texts a tenth to a fifth of the values are in the core, with three quarters or more of the squared length. So a split
// looks for its first sides by the cores alone (tree/split.hpp).
double sum_of_squares(const float* values, int64_t n);

// Returns sparse rows, whose columns are ascending, with their cores first: in the same memory, or in a copy. Dense
// rows are returned unchanged.
RowBuffer put_cores_first(RowBuffer rows, bool in_place, int n_threads);

}  // namespace labeltrees::labels
