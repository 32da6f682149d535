#include "labels/cores.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/threads.hpp"

namespace labeltrees {

namespace {

constexpr double kRounding = 1e-5;  // so that all of several equal values are in the core

// A value whose square is at least this belongs to the core.
float core_limit(const float* values, int32_t n) {
  return static_cast<float>((1 - kRounding) * sum_of_squares(values, n) / std::max(n, 1));
}

struct Rest {
  std::vector<int32_t> columns;
  std::vector<float> values;
};

// Returns the size of the core. Reading is never behind writing, so the row may be written where it is read.
int32_t put_core_first(const int32_t* columns, const float* values, int32_t n, int32_t* to_columns, float* to_values,
                       Rest& rest) {
  const float limit = core_limit(values, n);
  rest.columns.resize(n);
  rest.values.resize(n);
  int32_t core = 0;
  for (int32_t p = 0; p < n; ++p) {
    const int32_t column = columns[p];
    const float value = values[p];
    const bool in_core = value * value >= limit;
    rest.columns[p - core] = column;
    rest.values[p - core] = value;
    to_columns[core] = column;
    to_values[core] = value;
    core += in_core;
  }
  std::copy_n(rest.columns.data(), n - core, to_columns + core);
  std::copy_n(rest.values.data(), n - core, to_values + core);
  return core;
}

}  // namespace

double sum_of_squares(const float* values, int64_t n) {
  double sums[4] = {};
  int64_t p = 0;
  for (; p + 4 <= n; p += 4)
    for (int lane = 0; lane < 4; ++lane) sums[lane] += static_cast<double>(values[p + lane]) * values[p + lane];
  for (; p < n; ++p) sums[0] += static_cast<double>(values[p]) * values[p];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void put_cores_first(const LabelRows& from, RowBuffer& to, int n_threads) {
  std::vector<Rest> rests(std::max(n_threads, 1));
  parallel_for(n_blocks(from.n, kFewRows), n_threads, [&](int64_t block, int thread) {
    for (int64_t i = block * kFewRows, end = std::min(from.n, i + kFewRows); i < end; ++i) {
      const LabelRow& row = from.rows[i];
      const int64_t start = to.rows[i].start;
      to.rows[i].core = put_core_first(from.columns + row.start, from.values + row.start, row.length,
                                       to.columns + start, to.values + start, rests[thread]);
    }
  });
}

}  // namespace labeltrees
