#include <algorithm>
#include <utility>
#include <vector>

#include "common/threads.hpp"
#include "labels/label_rows.hpp"

namespace labeltrees::labels {

namespace {

constexpr double kRounding = 1e-5;  // so that equal values are all in the core

// A value whose square is at least this belongs to the core.
float core_limit(const float* values, int32_t n) {
  return static_cast<float>((1 - kRounding) * sum_of_squares(values, n) / std::max(n, 1));
}

struct Scratch {
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

RowBuffer put_cores_first(RowBuffer rows, bool in_place, int n_threads) {
  if (!rows.columns) return rows;
  RowBuffer copy;
  if (!in_place) {
    int64_t n_values = 0;
    for (LabelRow row : rows.rows) {
      row.start = n_values;
      n_values += row.length;
      copy.rows.push_back(row);
    }
    copy.allocate(n_values);
  }
  RowBuffer& to = in_place ? rows : copy;
  const auto n = static_cast<int64_t>(rows.rows.size());
  std::vector<Scratch> scratches(std::max(n_threads, 1));
  parallel_for(n_blocks(n, kFewRows), n_threads, [&](int64_t block, int thread) {
    for (int64_t i = block * kFewRows, end = std::min(n, i + kFewRows); i < end; ++i) {
      const LabelRow& row = rows.rows[i];
      const int32_t* columns = rows.columns + row.start;
      const float* values = rows.values + row.start;
      if (in_place) {
        Scratch& scratch = scratches[thread];
        scratch.columns.assign(columns, columns + row.length);
        scratch.values.assign(values, values + row.length);
        columns = scratch.columns.data();
        values = scratch.values.data();
      }
      LabelRow& written = to.rows[i];
      written.core = put_core_first(columns, values, row.length, to.columns + written.start, to.values + written.start);
    }
  });
  return std::move(to);
}

}  // namespace labeltrees::labels
