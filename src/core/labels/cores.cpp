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

struct Copy {
  std::vector<int32_t> columns;
  std::vector<float> values;
};

// Writes a row, core first, to other memory. Returns the size of the core.
int32_t put_core_first(const int32_t* columns, const float* values, int32_t n, int32_t* to_columns, float* to_values) {
  const float limit = core_limit(values, n);
  int32_t core = 0;
  for (int32_t p = 0; p < n; ++p) core += values[p] * values[p] >= limit;
  int32_t place[2] = {core, 0};  // of the next value outside and inside
  for (int32_t p = 0; p < n; ++p) {
    const int32_t to = place[values[p] * values[p] >= limit]++;
    to_columns[to] = columns[p];
    to_values[to] = values[p];
  }
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
  std::vector<Copy> copies(std::max(n_threads, 1));
  parallel_for(n_blocks(from.n, kFewRows), n_threads, [&](int64_t block, int thread) {
    for (int64_t i = block * kFewRows, end = std::min(from.n, i + kFewRows); i < end; ++i) {
      const LabelRow& row = from.rows[i];
      const int32_t* columns = from.columns + row.start;
      const float* values = from.values + row.start;
      if (to.values == from.values) {
        Copy& copy = copies[thread];
        copy.columns.assign(columns, columns + row.length);
        copy.values.assign(values, values + row.length);
        columns = copy.columns.data();
        values = copy.values.data();
      }
      const int64_t start = to.rows[i].start;
      to.rows[i].core = put_core_first(columns, values, row.length, to.columns + start, to.values + start);
    }
  });
}

}  // namespace labeltrees
