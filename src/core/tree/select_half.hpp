// Weighted selection: the rows with the largest keys that together hold half of the weight, in O(n).
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "labels/label_rows.hpp"

namespace labeltrees::tree {

// Rows are ordered by falling key, equal keys by rising index.
struct Half {
  int64_t crossing;  // the row at which the cumulated weight reaches half
  double alpha;      // in [-1, 1]; (1 + alpha) / 2 is the part of the crossing row that belongs to the + side
};

// An alpha this close to 0 counts as a tie between the sides, because sums of weights have rounding errors.
constexpr double kAlphaTie = 1e-9;

struct SelectScratch {
  std::vector<double> partial;   // per block: lowest key, highest key, then one histogram
  std::vector<uint16_t> bucket;  // per row
  std::vector<int64_t> candidates;
};

// IN: keys (n), finite; rows (n), of which only the weights are read; total, the sum of the weights, > 0.
Half select_half(const double* keys, const labels::LabelRow* rows, int64_t n, double total, Team& team,
                 SelectScratch& scratch);

}  // namespace labeltrees::tree
