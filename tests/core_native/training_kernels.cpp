// The kernels that train 4, 8 and 16 classifiers at once, compared with those of the baseline.
#include "compare.hpp"

namespace labeltrees::native_tests {

namespace {

// A small problem with the state of its training.
struct Problem {
  static constexpr int64_t n_rows = 60, n_columns = 40;
  int lanes;
  std::vector<simd::LaneRow> rows;
  std::vector<int32_t> columns, order;
  std::vector<float> values;
  Aligned<float> alpha, weights, bias, shrink_above, largest, smallest, inverse_costs;

  Problem(int lanes, bool dense, simd::LossId loss)
      : lanes(lanes),
        alpha(n_rows * lanes),
        weights(n_columns * lanes),
        bias(lanes),
        shrink_above(lanes),
        largest(lanes),
        smallest(lanes),
        inverse_costs(n_rows * lanes) {
    Random random(5);
    for (int64_t row = 0; row < n_rows; ++row) {
      simd::LaneRow head{};
      head.begin = static_cast<int64_t>(values.size());
      head.squared_norm = 1;  // of the bias feature
      for (int32_t column = 0; column < n_columns; ++column) {
        if (!dense && random.below(3) > 0) continue;
        columns.push_back(column);
        values.push_back(random.value());
        head.squared_norm += values.back() * values.back();
      }
      head.length = static_cast<int32_t>(static_cast<int64_t>(values.size()) - head.begin);
      head.positive = static_cast<uint16_t>(random.below(1 << lanes));
      head.active = static_cast<uint16_t>((1 << lanes) - 1);
      rows.push_back(head);
      order.push_back(static_cast<int32_t>((row * 7) % n_rows));
    }
    for (int64_t i = 0; i < alpha.size(); ++i)
      alpha[i] = loss == simd::kSquaredHinge ? random.value() + 0.9f : random.value();
    for (int64_t i = 0; i < alpha.size(); ++i) alpha[i] = loss == simd::kSquaredHinge && alpha[i] < 0.3f ? 0 : alpha[i];
    for (int64_t i = 0; i < weights.size(); ++i) weights[i] = random.value();
    for (int64_t i = 0; i < inverse_costs.size(); ++i) inverse_costs[i] = 0.6f + 0.3f * random.value();
    for (int lane = 0; lane < lanes; ++lane) {
      bias[lane] = random.value();
      shrink_above[lane] = 0.4f + 0.1f * random.value();
      largest[lane] = -1e30f;
      smallest[lane] = 1e30f;
    }
  }

  simd::LanePass pass(bool dense, bool one_cost) {
    simd::LanePass pass{};
    pass.rows = rows.data();
    pass.columns = dense ? nullptr : columns.data();
    pass.values = values.data();
    pass.bias_value = 1;
    pass.inverse_cost = 0.5f;
    pass.inverse_costs = one_cost ? nullptr : inverse_costs.data();
    pass.alpha = alpha.data();
    pass.weights = weights.data();
    pass.bias = bias.data();
    pass.live = static_cast<uint16_t>((1 << lanes) - 2);  // the first lane has finished
    pass.shrink_above = shrink_above.data();
    pass.ignore_below = 1e-3f;
    pass.largest = largest.data();
    pass.smallest = smallest.data();
    pass.order = order.data();
    pass.n_order = n_rows;
    return pass;
  }

  void compare(Report& report, const std::string& what, const Problem& expected) const {
    report.near(what + ", alpha", alpha.data(), expected.alpha.data(), alpha.size(), 1e-3);
    report.near(what + ", weights", weights.data(), expected.weights.data(), weights.size(), 1e-3);
    report.near(what + ", bias", bias.data(), expected.bias.data(), lanes, 1e-3);
    report.near(what + ", largest", largest.data(), expected.largest.data(), lanes, 1e-3);
    report.near(what + ", smallest", smallest.data(), expected.smallest.data(), lanes, 1e-3);
    for (size_t row = 0; row < rows.size(); ++row)
      report.near(what + ", active", rows[row].active, expected.rows[row].active, 0);
  }
};

void test_losses(const simd::LaneKernels& kernels, const simd::LaneKernels& baseline, Report& report) {
  for (simd::LossId loss : {simd::kSquaredHinge, simd::kLogistic})
    for (bool dense : {false, true})
      for (bool one_cost : {false, true}) {
        Problem problem(kernels.lanes, dense, loss), expected(kernels.lanes, dense, loss);
        simd::LanePass pass = problem.pass(dense, one_cost), expected_pass = expected.pass(dense, one_cost);
        const std::string what = std::string(loss == simd::kLogistic ? "logistic" : "hinge") + " pass of " +
                                 std::to_string(kernels.lanes) + " lanes";
        const auto n_left = kernels.losses.of[loss].pass[dense](pass);
        const auto n_expected = baseline.losses.of[loss].pass[dense](expected_pass);
        report.near(what + ", rows left", static_cast<double>(n_left), static_cast<double>(n_expected), 0);
        report.near(what + ", lanes shrunk", pass.shrunk, expected_pass.shrunk, 0);
        problem.compare(report, what, expected);
        kernels.losses.of[loss].rebuild[dense](pass, Problem::n_rows, Problem::n_columns);
        baseline.losses.of[loss].rebuild[dense](expected_pass, Problem::n_rows, Problem::n_columns);
        problem.compare(report, what + ", rebuilt", expected);
      }
}

void test_others(const simd::LaneKernels& kernels, Report& report) {
  const int lanes = kernels.lanes;
  Random random(6);
  const auto row_weight = random.values(Problem::n_rows), total = random.values(Problem::n_columns);
  const auto scale = random.values(lanes), shift = random.values(lanes);
  for (bool dense : {false, true}) {
    Problem problem(lanes, dense, simd::kSquaredHinge);
    const Problem before(problem);
    kernels.add_positive[dense](problem.pass(dense, true), row_weight.data(), Problem::n_rows);
    for (int lane = 0; lane < lanes; ++lane) {
      std::vector<double> expected(Problem::n_columns);
      for (int64_t column = 0; column < Problem::n_columns; ++column)
        expected[column] = before.weights[column * lanes + lane];
      for (int64_t row = 0; row < Problem::n_rows; ++row)
        for (int32_t i = 0; i < before.rows[row].length; ++i)
          if (before.rows[row].positive >> lane & 1)
            expected[before.columns[before.rows[row].begin + i]] +=
                double{row_weight[row]} * before.values[before.rows[row].begin + i];
      for (int64_t column = 0; column < Problem::n_columns; ++column)
        report.near("add_positive", problem.weights[column * lanes + lane], expected[column]);
    }
  }
  for (bool dense : {false, true}) {
    const Problem problem(lanes, dense, simd::kSquaredHinge);
    for (int64_t row = 0; row < Problem::n_rows; ++row) {
      const auto& head = problem.rows[row];
      const int32_t* columns = problem.columns.data() + head.begin;
      const float* values = problem.values.data() + head.begin;
      Aligned<float> margins(scale);
      kernels.add_margins[dense](dense ? nullptr : columns, values, head.length, problem.weights.data(),
                                 margins.data());
      for (int lane = 0; lane < lanes; ++lane) {
        double expected = scale[lane];
        for (int32_t i = 0; i < head.length; ++i)
          expected += double{values[i]} * problem.weights[columns[i] * lanes + lane];
        report.near("add_margins", margins[lane], expected);
      }
    }
  }
  Problem problem(lanes, false, simd::kSquaredHinge);
  std::vector<double> squares(lanes), cross(lanes);
  std::vector<uint16_t> kept(Problem::n_columns);
  std::vector<int32_t> counts(lanes);
  kernels.inner_products(problem.weights.data(), total.data(), Problem::n_columns, squares.data(), cross.data());
  kernels.find_kept(problem.weights.data(), Problem::n_columns, 0.5f, kept.data(), counts.data());
  Aligned<float> combined(problem.weights);
  kernels.combine(combined.data(), total.data(), Problem::n_columns, scale.data(), shift.data());
  kernels.start_alpha(problem.alpha.data(), problem.rows.data(), row_weight.data(), Problem::n_rows, scale.data(),
                      shift.data());
  for (int lane = 0; lane < lanes; ++lane) {
    double square = 0, product = 0;
    int64_t count = 0;
    for (int64_t column = 0; column < Problem::n_columns; ++column) {
      const double weight = problem.weights[column * lanes + lane];
      square += weight * weight;
      product += weight * total[column];
      count += std::fabs(weight) >= 0.5;
      report.near("find_kept", kept[column] >> lane & 1, std::fabs(weight) >= 0.5, 0);
      report.near("combine", combined[column * lanes + lane],
                  scale[lane] * weight + double{shift[lane]} * total[column]);
    }
    report.near("squares", squares[lane], square);
    report.near("cross", cross[lane], product);
    report.near("counts of find_kept", counts[lane], static_cast<double>(count), 0);
    for (int64_t row = 0; row < Problem::n_rows; ++row)
      report.near("start_alpha", problem.alpha[row * lanes + lane],
                  double{row_weight[row]} * (problem.rows[row].positive >> lane & 1 ? scale[lane] : shift[lane]));
  }
}

}  // namespace

void test_training(const simd::Kernels& table, const simd::Kernels& baseline, Report& report) {
  for (int width = 0; width < 3; ++width) {
    test_losses(table.lanes[width], baseline.lanes[width], report);
    test_others(table.lanes[width], report);
  }
}

}  // namespace labeltrees::native_tests
