// Memory for the rows of labels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "labels/label_rows.hpp"

namespace labeltrees {

// Columns and values are owned, or belong to somebody else.
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

}  // namespace labeltrees
