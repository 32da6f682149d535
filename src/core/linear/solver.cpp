#include "linear/solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/random.hpp"

namespace labeltrees {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// A row whose projected gradients are all below this share of eps is left as it is: half the updates fall away, and the
// number of passes and the precision stay the same.
constexpr float kIgnored = 0.2f;
constexpr int kPassesPerRebuild = 64;
constexpr int64_t kRowsPerCheck = 16384;  // Ctrl-C is looked for this often

// The bias b > 0 of a logistic classifier of a bias alone whose rows are all positive, of total cost c: b = c
// sigmoid(-b).
float sure_logit(float cost) {
  float low = 0, high = cost;
  for (int step = 0; step < 100; ++step) {
    const float middle = 0.5f * (low + high);
    (middle < cost / (1.0f + std::exp(middle)) ? low : high) = middle;
  }
  return low;
}

}  // namespace

LaneSolver::LaneSolver() : table_(active_kernels()) {}

void LaneSolver::solve(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options,
                       int64_t first_edge, const Job& job) {
  kernels_ = &table_.lanes[targets.n_lanes <= 4 ? 0 : targets.n_lanes <= 8 ? 1 : 2];
  const int lanes = kernels_->lanes;
  set_rows(node, targets);
  weights_.resize(node.n_columns * lanes);
  weights_.zero();
  std::fill_n(bias_, kMaxLanes, 0.0f);

  LanePass pass{};
  pass.rows = rows_.data();
  pass.columns = node.columns;
  pass.values = node.values;
  pass.bias_value = options.bias_value;
  pass.weights = weights_.data();
  pass.bias = bias_;
  pass.shrink_above = shrink_above_;
  pass.largest = largest_;
  pass.smallest = smallest_;
  // A child all rows have, or none, needs no training: its score is 1, or as good as nothing.
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    if (n_positive_[lane] > 0 && n_positive_[lane] < node.n_rows) pass.live |= static_cast<uint16_t>(1u << lane);
  }
  if (pass.live != 0) {
    alpha_.resize(node.n_rows * lanes);
    pass.inverse_cost = 1.0f / (2.0f * options.cost);
    if (node.row_weight.size() > 0 || targets.pair_costs || options.balanced) {
      set_costs(node, targets, options);
      pass.inverse_costs = inverse_costs_.data();
    }
    pass.alpha = alpha_.data();
    if (options.logistic) {
      std::fill_n(alpha_.data(), alpha_.size(), -87.0f);  // log(a / (C - a)) of a = 0
    } else {
      start(node, pass);
    }
    descend(node, pass, options, first_edge, job);
  }
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    bias_[lane] *= options.bias_value;
    if ((pass.live >> lane & 1) != 0) continue;
    for (int64_t column = 0; column < node.n_columns; ++column) weights_[column * lanes + lane] = 0;
    const float constant = options.logistic ? sure_logit(options.cost * static_cast<float>(node.n_rows)) : 1.0f;
    bias_[lane] = n_positive_[lane] == 0 ? -constant : constant;
  }
}

void LaneSolver::set_rows(const NodeRows& node, const LaneTargets& targets) {
  rows_.resize(node.n_rows);
  for (int64_t row = 0; row < node.n_rows; ++row)
    rows_[row] = {node.begin[row], node.length[row], node.squared_norm[row], 0, 0};
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    const uint16_t bit = static_cast<uint16_t>(1u << lane);
    int64_t count = 0;
    for (int64_t pair = targets.pair_begin[lane]; pair < targets.pair_end[lane]; ++pair) {
      const int32_t row = node.row_of_pair[pair];
      if (row < 0 || (rows_[row].positive & bit) != 0) continue;
      rows_[row].positive |= bit;
      ++count;
    }
    n_positive_[lane] = count;
  }
}

// inverse_costs = 1 / (2 C_i): C times the row's weight times, for positives, the largest cost of the pairs below the
// child, times what balances the classes.
void LaneSolver::set_costs(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options) {
  const int lanes = kernels_->lanes;
  inverse_costs_.resize(node.n_rows * lanes);
  std::fill_n(inverse_costs_.data(), inverse_costs_.size(), 0.0f);
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    for (int64_t pair = targets.pair_begin[lane]; pair < targets.pair_end[lane]; ++pair) {
      const int32_t row = node.row_of_pair[pair];
      if (row < 0) continue;
      float& cost = inverse_costs_[int64_t{row} * lanes + lane];
      cost = std::max(cost, targets.pair_costs ? targets.pair_costs[pair] : 1.0f);
    }
  }
  float of_positive[kMaxLanes], of_negative[kMaxLanes];
  for (int lane = 0; lane < lanes; ++lane) {
    of_positive[lane] = of_negative[lane] = 1;
    if (!options.balanced || lane >= targets.n_lanes) continue;
    const float n = static_cast<float>(node.n_rows), n_positive = static_cast<float>(n_positive_[lane]);
    of_positive[lane] = n / (2 * std::max(n_positive, 1.0f));
    of_negative[lane] = n / (2 * std::max(n - n_positive, 1.0f));
  }
  for (int64_t row = 0; row < node.n_rows; ++row) {
    const float row_cost = 2 * options.cost * (node.row_weight.size() > 0 ? node.row_weight[row] : 1.0f);
    for (int lane = 0; lane < lanes; ++lane) {
      float& cost = inverse_costs_[row * lanes + lane];
      const bool is_positive = (rows_[row].positive >> lane & 1) != 0;
      cost = 1.0f / (row_cost * (is_positive ? cost * of_positive[lane] : of_negative[lane]));
    }
  }
}

// Starts from the best classifier along the means of its positives and negatives: alpha_i = a s_i for positives and
// b s_i for negatives (s the row weights), with a, b >= 0 the optimum of the dual over these two numbers. With
// P = sum of s_i x_i over positives, N over negatives (bias feature included), p and n the sums of s_i, and P2, N2
// those of s_i^2 / (2 C_i):
//   (P.P + P2) a - P.N b = p,   -P.N a + (N.N + N2) b = n.
void LaneSolver::start(const NodeRows& node, LanePass& pass) {
  const int lanes = kernels_->lanes;
  const float* row_weight = node.row_weight.size() > 0 ? node.row_weight.data() : nullptr;
  kernels_->add_positive[pass.columns == nullptr](pass, row_weight, node.n_rows);
  double squares[kMaxLanes], cross[kMaxLanes];
  kernels_->inner_products(weights_.data(), node.total.data(), node.n_columns, squares, cross);
  double total_square = 0;
  for (int64_t column = 0; column < node.n_columns; ++column)
    total_square += static_cast<double>(node.total[column]) * node.total[column];

  double positive_weight[kMaxLanes] = {}, positive_curve[kMaxLanes] = {}, negative_curve[kMaxLanes] = {};
  if (pass.inverse_costs) {
    for (int64_t row = 0; row < node.n_rows; ++row) {
      const float weight = row_weight ? row_weight[row] : 1.0f;
      for (int lane = 0; lane < lanes; ++lane) {
        const float curve = weight * weight * pass.inverse_costs[row * lanes + lane];
        if ((rows_[row].positive >> lane & 1) != 0) {
          positive_weight[lane] += weight;
          positive_curve[lane] += curve;
        } else {
          negative_curve[lane] += curve;
        }
      }
    }
  } else {
    for (int lane = 0; lane < lanes; ++lane) {
      if ((pass.live >> lane & 1) == 0) continue;
      positive_weight[lane] = static_cast<double>(n_positive_[lane]);
      positive_curve[lane] = positive_weight[lane] * pass.inverse_cost;
      negative_curve[lane] = (node.total_weight - positive_weight[lane]) * pass.inverse_cost;
    }
  }
  const double total_bias = node.total_weight * pass.bias_value;
  total_square += total_bias * total_bias;
  alignas(64) float if_positive[kMaxLanes] = {}, if_negative[kMaxLanes] = {}, scale[kMaxLanes] = {},
                    shift[kMaxLanes] = {};
  for (int lane = 0; lane < lanes; ++lane) {
    if ((pass.live >> lane & 1) == 0) continue;
    const double bias = positive_weight[lane] * pass.bias_value;
    const double p_p = squares[lane] + bias * bias, p_t = cross[lane] + bias * total_bias;
    const double p_n = p_t - p_p, n_n = std::max(total_square - 2 * p_t + p_p, 0.0);
    const double p = positive_weight[lane], n = node.total_weight - p;
    const double pp = p_p + positive_curve[lane], nn = n_n + negative_curve[lane];
    const double determinant = pp * nn - p_n * p_n;
    double a = (p * nn + n * p_n) / determinant, b = (n * pp + p * p_n) / determinant;
    if (!(a >= 0 && b >= 0)) {
      // Only where the means point away from each other; then one of the two alone.
      const bool positives = p * p / pp > n * n / nn;
      a = positives ? p / pp : 0;
      b = positives ? 0 : n / nn;
    }
    if_positive[lane] = static_cast<float>(a);
    if_negative[lane] = static_cast<float>(b);
    // w = a P - b N = (a + b) P - b T
    scale[lane] = static_cast<float>(a + b);
    shift[lane] = static_cast<float>(-b);
    bias_[lane] = static_cast<float>(a * bias - b * (total_bias - bias));
  }
  kernels_->combine(weights_.data(), node.total.data(), node.n_columns, scale, shift);
  kernels_->start_alpha(alpha_.data(), rows_.data(), row_weight, node.n_rows, if_positive, if_negative);
}

void LaneSolver::descend(const NodeRows& node, LanePass& pass, const LinearOptions& options, int64_t first_edge,
                         const Job& job) {
  const int lanes = kernels_->lanes;
  order_.resize(node.n_rows);
  int64_t n_order = 0;
  uint16_t shrunk = 0;  // lanes with rows left out
  // Lets these lanes look at all rows again.
  auto wake = [&](uint16_t which) {
    n_order = node.n_rows;
    for (int64_t row = 0; row < n_order; ++row) {
      order_[row] = static_cast<int32_t>(row);
      rows_[row].active |= which;
    }
    for (int lane = 0; lane < kMaxLanes; ++lane)
      if ((which >> lane & 1) != 0) shrink_above_[lane] = kInfinity;
    shrunk &= static_cast<uint16_t>(~which);
  };
  for (int64_t row = 0; row < node.n_rows; ++row) rows_[row].active = 0;
  wake(pass.live);
  pass.ignore_below = kIgnored * options.eps;
  Random random(options.seed, static_cast<uint64_t>(first_edge));
  const bool dense = pass.columns == nullptr;
  const auto run = options.logistic ? kernels_->logistic_pass[dense] : kernels_->hinge_pass[dense];
  const auto rebuild = options.logistic ? kernels_->rebuild_logistic[dense] : kernels_->rebuild_hinge[dense];
  const uint16_t live = pass.live;
  uint16_t waiting = 0;  // lanes done among the rows they look at
  int lane_passes[kMaxLanes] = {};
  for (int pass_number = 0; pass.live != 0; ++pass_number) {
    if (pass_number % kPassesPerRebuild == kPassesPerRebuild - 1) {
      rebuild(pass, node.n_rows, node.n_columns);
      // A row left out by mistake must not wait for the others to be done: beyond float32 they never are.
      wake(pass.live);
    }
    random.shuffle(order_.data(), n_order);
    std::fill_n(largest_, kMaxLanes, -kInfinity);
    std::fill_n(smallest_, kMaxLanes, kInfinity);
    pass.shrunk = 0;
    int64_t n_left = 0;
    for (int64_t from = 0; from < n_order; from += kRowsPerCheck) {
      job.check();
      pass.order = order_.data() + from;
      pass.n_order = std::min(kRowsPerCheck, n_order - from);
      const int64_t left = run(pass);
      std::copy_n(pass.order, left, order_.data() + n_left);
      n_left += left;
    }
    n_order = n_left;
    ++passes_;
    for (int lane = 0; lane < lanes; ++lane) {
      const uint16_t bit = static_cast<uint16_t>(1u << lane);
      if ((pass.live & bit) == 0) continue;
      const float left =
          options.logistic ? std::max(largest_[lane], -smallest_[lane]) : largest_[lane] - smallest_[lane];
      const bool out_of_passes = ++lane_passes[lane] == options.max_iter;
      if (left <= options.eps || out_of_passes) {
        pass.live ^= bit;
        if ((shrunk & bit) != 0 && !out_of_passes) waiting |= bit;
      }
      shrink_above_[lane] = largest_[lane] > 0 ? largest_[lane] : kInfinity;
    }
    shrunk |= pass.shrunk;
    if (pass.live == 0 && waiting != 0) {
      // All are done among the rows left to them: look at all rows once more, all lanes together.
      wake(waiting);
      pass.live = waiting;
      waiting = 0;
    }
  }
  pass.live = live;
}

}  // namespace labeltrees
