// Compares the kernels of every instruction set that this processor has with their definitions and with the baseline.
#include <cstring>

#include "compare.hpp"

namespace labeltrees::native_tests {

void test_sums(const simd::Kernels& table, Report& report) {
  Random random(1);
  for (int64_t n : {0, 1, 3, 4, 7, 8, 15, 16, 17, 33, 100, 1000}) {
    const int64_t d = 500;
    std::vector<int32_t> columns(static_cast<size_t>(n));
    for (auto& column : columns) column = static_cast<int32_t>(random.below(d));
    const auto values = random.values(n), pairs = random.values(2 * d), other = random.values(n);
    double sum = 0, first = 0, second = 0, product = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += double{values[i]} * pairs[columns[i]];
      first += double{values[i]} * pairs[2 * columns[i]];
      second += double{values[i]} * pairs[2 * columns[i] + 1];
      product += double{values[i]} * other[i];
    }
    float sums[2];
    table.gather_dot_pairs(columns.data(), values.data(), n, pairs.data(), sums);
    report.near("gather_dot", table.gather_dot(columns.data(), values.data(), n, pairs.data()), sum);
    report.near("gather_dot_pairs, first", sums[0], first);
    report.near("gather_dot_pairs, second", sums[1], second);
    report.near("dense_dot", table.dense_dot(values.data(), other.data(), n), product);
  }
}

void test_bitmaps(const simd::Kernels& table, Report& report) {
  Random random(3);
  for (int64_t n_words : {1, 2, 61}) {
    std::vector<uint64_t> row(static_cast<size_t>(n_words), 0), query(row);
    std::vector<uint16_t> weights;
    double sum = 0;
    for (int64_t bit = 0; bit < 64 * n_words; ++bit) {
      const bool in_row = random.below(5) == 0, in_query = random.below(3) == 0;
      row[bit / 64] |= uint64_t{in_row} << (bit % 64);
      query[bit / 64] |= uint64_t{in_query} << (bit % 64);
      if (!in_row) continue;
      weights.push_back(static_cast<uint16_t>(0x3F80 + random.below(64)));  // 1 + 1/128 times a number below 64
      sum += in_query ? 1.0 + (weights.back() - 0x3F80) / 128.0 : 0.0;
    }
    report.near("sum_present", table.sum_present(row.data(), query.data(), n_words, weights.data()), sum);
  }
}

void test_texts(const simd::Kernels& table, Report& report) {
  Random random(2);
  const simd::TextKernels& text = table.text;
  for (int64_t stride : {16, 32, 48, 64, 96, 112, 128, 144, 304}) {
    const int64_t n_rows = 20, n = 7;
    const int32_t ids[n] = {3, 0, 19, 5, 6, 11, 7};
    const auto rows = random.values(n_rows * stride), x = random.values(stride), before = random.values(stride);
    Aligned<float> sums(stride), added(rows), stepped(rows), gradient(before), step(n), dots(n);
    for (int64_t i = 0; i < n; ++i) step[i] = random.value();
    text.sum_rows(rows.data(), stride, ids, n, sums.data());
    text.add_to_rows(added.data(), stride, ids, n, x.data());
    text.dot_rows(rows.data(), stride, ids, n, x.data(), dots.data());
    text.step_rows(stepped.data(), stride, ids, step.data(), n, x.data(), gradient.data());
    for (int64_t column = 0; column < stride; ++column) {
      double sum = 0, slope = before[column];
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = ids[i] * stride + column;
        sum += rows[at];
        slope += double{step[i]} * rows[at];
        report.near("add_to_rows", added[at], double{rows[at]} + x[column]);
        report.near("step_rows", stepped[at], double{rows[at]} + double{step[i]} * x[column]);
      }
      report.near("sum_rows", sums[column], sum);
      report.near("gradient of step_rows", gradient[column], slope);
    }
    for (int64_t i = 0; i < n; ++i) {
      double dot = 0;
      for (int64_t column = 0; column < stride; ++column) dot += double{rows[ids[i] * stride + column]} * x[column];
      report.near("dot_rows", dots[i], dot);
    }
  }
  Aligned<float> values(64), out(64);
  for (int64_t i = 0; i < 64; ++i) values[i] = static_cast<float>((i - 32) * 2.6);
  text.sigmoids(values.data(), 60, out.data());
  for (int64_t i = 0; i < 60; ++i) report.near("sigmoids", out[i], 1.0 / (1.0 + std::exp(-double{values[i]})), 1e-6);
}

}  // namespace labeltrees::native_tests

int main(int n_arguments, char** arguments) {
  using namespace labeltrees;
  simd::use_kernels("baseline");
  const simd::Kernels& baseline = simd::active_kernels();
  bool good = true, seen = n_arguments < 2;
  for (auto name = simd::available_kernels(); *name; ++name) {
    simd::use_kernels(*name);
    native_tests::Report report(*name);
    native_tests::test_sums(simd::active_kernels(), report);
    native_tests::test_bitmaps(simd::active_kernels(), report);
    native_tests::test_chunks(simd::active_kernels(), report);
    native_tests::test_selection(simd::active_kernels(), report);
    native_tests::test_training(simd::active_kernels(), baseline, report);
    native_tests::test_texts(simd::active_kernels(), report);
    good &= report.print();
    seen |= n_arguments > 1 && std::strcmp(*name, arguments[1]) == 0;
  }
  if (!seen) std::printf("this build or processor has no %s\n", arguments[1]);
  return good && seen ? 0 : 1;
}
