// Separates the two sides of a split: each gets contiguous rows and only the columns that occur in it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "labels/label_rows.hpp"

namespace labeltrees::tree {

// A set of labels to split: its rows in the buffer of its depth.
struct NodeLabels {
  int64_t first_row, n_rows;
  int64_t first_value, n_values;
  int32_t n_columns;
  int32_t depth;
};

class Partition {
 public:
  explicit Partition(Team& team) : team_(team) {}

  // IN: rows of the set; share (rows.n), 1 on the + side and 0 on the - side.
  // OUT: the set's range of `to`, the + side first; plus and minus, the two new sets. If `to` has the same values as
  // `rows`, they stay where they are, with their columns.
  void apply(const labels::LabelRows& rows, const NodeLabels& set, const std::vector<double>& share,
             labels::RowBuffer& to, NodeLabels& plus, NodeLabels& minus);

 private:
  void renumber_columns(const labels::LabelRows& rows, const std::vector<double>& share, NodeLabels& plus,
                        NodeLabels& minus);

  struct Counts {
    int64_t values, plus_rows, plus_values;
  };

  Team& team_;
  std::vector<Counts> before_;          // per block: totals of the blocks before it
  std::vector<uint8_t> used_[2];        // per column, by side
  std::vector<int32_t> new_column_[2];  // per column, by side; empty: columns keep their numbers
};

}  // namespace labeltrees::tree
