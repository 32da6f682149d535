// Weighted selection: the rows with the largest keys that together hold half of the weight, in O(n).
#pragma once

#include <cstdint>
#include <vector>

#include "common/team.hpp"
#include "labels/label_rows.hpp"

namespace labeltrees {

// Rows are ordered by falling key, equal keys by rising index. `crossing` is the row at which the cumulated weight
// reaches half; `alpha` in [-1, 1] is the share of it that belongs to the + side, as the paper writes it.
struct Half {
  int64_t crossing;
  double alpha;
};

struct SelectScratch {
  std::vector<double> partial;   // per block: lowest key, highest key, then one histogram
  std::vector<uint16_t> bucket;  // per row
  std::vector<int64_t> candidates;
};

// keys (n,) finite; total = the rows' weights added up, > 0.
Half select_half(const double* keys, const LabelRow* rows, int64_t n, double total, Team& team, SelectScratch& scratch);

}  // namespace labeltrees
