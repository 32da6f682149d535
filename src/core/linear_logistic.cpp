#include "linear_logistic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linear_random.hpp"

namespace labeltrees {

namespace {

constexpr double kCertain = 15.0;  // the margin of a child that all rows have: its score is 1 to float precision
constexpr int kNewtonSteps = 100;
constexpr int64_t kRowsPerCheck = 16384;

// Minimises a/2 (z - old)^2 + b (z - old) + z log z + (c - z) log(c - z) over z in (0, c), from `z`: Newton's method on
// a convex function whose derivative runs from -inf to +inf, with the step cut where it would leave the interval.
double newton(double z, double old, double a, double b, double c, double tolerance) {
  for (int step = 0; step < kNewtonSteps; ++step) {
    const double slope = a * (z - old) + b + std::log(z / (c - z));
    if (std::abs(slope) < tolerance) break;
    const double next = z - slope / (a + c / ((c - z) * z));
    z = next <= 0 ? z / 10 : next >= c ? c - (c - z) / 10 : next;
  }
  return z;
}

}  // namespace

void LogisticSolver::solve(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options,
                           int64_t first_edge, const Job& job) {
  kernels_ = &table_.lanes[targets.n_lanes <= 4 ? 0 : targets.n_lanes <= 8 ? 1 : 2];
  const int lanes = kernels_->lanes;
  weights_.resize(node.n_columns * lanes);
  weights_.zero();
  std::fill_n(bias_, kMaxLanes, 0.0f);
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    const int64_t n_positive = mark_positive(node, targets, lane);
    if (n_positive == 0 || n_positive == node.n_rows) {
      bias_[lane] = static_cast<float>(n_positive == 0 ? -kCertain : kCertain);
      continue;
    }
    set_costs(node, options, n_positive);
    descend(node, options, static_cast<uint64_t>(first_edge + lane), job);
    for (int64_t column = 0; column < node.n_columns; ++column)
      weights_[column * lanes + lane] = static_cast<float>(w_[column]);
    bias_[lane] = static_cast<float>(w_.back() * options.bias_value);
  }
}

int64_t LogisticSolver::mark_positive(const NodeRows& node, const LaneTargets& targets, int lane) {
  positive_.assign(node.n_rows, 0.0f);
  int64_t count = 0;
  for (int64_t pair = targets.pair_begin[lane]; pair < targets.pair_end[lane]; ++pair) {
    const int32_t row = node.row_of_pair[pair];
    if (row < 0) continue;
    count += positive_[row] == 0;
    positive_[row] = std::max(positive_[row], targets.pair_costs ? targets.pair_costs[pair] : 1.0f);
  }
  return count;
}

void LogisticSolver::set_costs(const NodeRows& node, const LinearOptions& options, int64_t n_positive) {
  const auto n = static_cast<double>(node.n_rows), p = static_cast<double>(n_positive);
  const double of_positive = options.balanced ? n / (2 * p) : 1, of_negative = options.balanced ? n / (2 * (n - p)) : 1;
  cost_.resize(node.n_rows);
  for (int64_t row = 0; row < node.n_rows; ++row) {
    const double of_row = options.cost * (node.row_weight.size() > 0 ? node.row_weight[row] : 1.0f);
    cost_[row] = of_row * (positive_[row] > 0 ? positive_[row] * of_positive : of_negative);
  }
}

// The dual: minimise 1/2 |w|^2 + sum_i alpha_i log alpha_i + (C_i - alpha_i) log(C_i - alpha_i) with
// w = sum_i y_i alpha_i x_i, one alpha_i at a time. Of the two numbers alpha_i and C_i - alpha_i the smaller one is
// solved for, where the logarithm is steep and precision would be lost.
void LogisticSolver::descend(const NodeRows& node, const LinearOptions& options, uint64_t stream, const Job& job) {
  const int64_t n = node.n_rows;
  const double bias = options.bias_value;
  alpha_.resize(n);
  w_.assign(node.n_columns + 1, 0.0);
  auto add = [&](int64_t row, double change) {
    const float* values = node.values + node.begin[row];
    const int32_t* columns = node.columns ? node.columns + node.begin[row] : nullptr;
    for (int32_t p = 0; p < node.length[row]; ++p) w_[columns ? columns[p] : p] += change * values[p];
    w_.back() += change * bias;
  };
  for (int64_t row = 0; row < n; ++row) {
    alpha_[row] = std::min(0.001 * cost_[row], 1e-8);
    add(row, positive_[row] > 0 ? alpha_[row] : -alpha_[row]);
  }
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0);
  Random random(options.seed, stream);
  double tolerance = std::min(0.01, static_cast<double>(options.eps));
  for (int pass = 0; pass < options.max_iter; ++pass) {
    random.shuffle(order_.data(), n);
    double worst = 0;
    int64_t n_moved = 0;
    for (int64_t at = 0; at < n; ++at) {
      if (at % kRowsPerCheck == 0) job.check();
      const int64_t row = order_[at];
      const double y = positive_[row] > 0 ? 1 : -1, c = cost_[row], a = node.squared_norm[row];
      const float* values = node.values + node.begin[row];
      const int32_t* columns = node.columns ? node.columns + node.begin[row] : nullptr;
      double margin = w_.back() * bias;
      for (int32_t p = 0; p < node.length[row]; ++p) margin += w_[columns ? columns[p] : p] * values[p];
      const bool upper = 0.5 * a * (c - 2 * alpha_[row]) + y * margin < 0;  // solve for C - alpha instead
      const double sign = upper ? -1 : 1, b = sign * y * margin;
      const double old = upper ? c - alpha_[row] : alpha_[row];
      const double from = c - old < 0.5 * c ? 0.1 * old : old;
      const double slope = a * (from - old) + b + std::log(from / (c - from));
      worst = std::max(worst, std::abs(b + std::log(old / (c - old))));
      if (std::abs(slope) < tolerance && from == old) continue;
      const double z = newton(from, old, a, b, c, tolerance);
      alpha_[row] = upper ? c - z : z;
      add(row, sign * (z - old) * y);
      ++n_moved;
    }
    if (worst < options.eps) break;
    if (n_moved <= n / 10) tolerance = std::max(1e-8, 0.1 * tolerance);
  }
}

}  // namespace labeltrees
