// After a split: writes the two sides' rows apart, each contiguous, with its columns renumbered to those that occur.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/team.hpp"
#include "labels/label_rows.hpp"

namespace labeltrees {

// One of the two sets of arrays that levels take turns in. Columns and values are its own or lent to it.
struct RowBuffer {
  std::vector<LabelRow> rows;
  int32_t* columns = nullptr;  // null: dense rows
  float* values = nullptr;

  void own(int64_t n_values, bool sparse) {
    own_values_.reset(new float[n_values]);
    values = own_values_.get();
    if (!sparse) return;
    own_columns_.reset(new int32_t[n_values]);
    columns = own_columns_.get();
  }

 private:
  std::unique_ptr<int32_t[]> own_columns_;
  std::unique_ptr<float[]> own_values_;
};

// A set of labels to split: where its rows lie in the buffer of its depth.
struct LabelSet {
  int64_t first_row, n_rows;
  int64_t first_value, n_values;
  int32_t n_columns;
  int32_t depth;
};

class Partition {
 public:
  explicit Partition(Team& team) : team_(team) {}

  // rows: the set's rows; share: 1 for the + side, 0 for the other. Writes both sides into the set's range of `to`.
  void apply(const LabelRows& rows, const LabelSet& set, const std::vector<double>& share, RowBuffer& to,
             LabelSet& plus, LabelSet& minus);

 private:
  void renumber_columns(const LabelRows& rows, const std::vector<double>& share, LabelSet& plus, LabelSet& minus);

  struct Counts {
    int64_t values, plus_rows, plus_values;
  };

  Team& team_;
  std::vector<Counts> before_;          // per block: what the blocks before it hold
  std::vector<uint8_t> used_[2];        // per column, by side
  std::vector<int32_t> new_column_[2];  // per column, by side; empty: columns are kept
};

}  // namespace labeltrees
