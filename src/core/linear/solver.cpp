#include "linear/solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/random.hpp"

namespace labeltrees::linear {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// A row whose projected gradients are all below this share of eps is not updated: this saves half of the updates, and
// the number of passes and the precision stay the same.
constexpr float kIgnored = 0.2f;
// Bytes of weights that are prefetched. Below, they come from the cache in time: prefetching 2 MB of them made the fit
// of the bundled data 11 % slower.
constexpr int64_t kPrefetched = 8 << 20;
constexpr int64_t kRowsPerCheck = 16384;  // how often Ctrl-C is checked

}  // namespace

LaneSolver::LaneSolver() : table_(simd::active_kernels()) {}

// Sets up rows, and weights of zero; the lanes to train are not known yet.
simd::LanePass LaneSolver::begin(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options) {
  kernels_ = &table_.lanes[targets.n_lanes <= 4 ? 0 : targets.n_lanes <= 8 ? 1 : 2];
  set_rows(node, targets);
  weights_.resize(node.n_columns * kernels_->lanes);
  weights_.zero();
  std::fill_n(bias_, kMaxLanes, 0.0f);
  simd::LanePass pass{};
  pass.rows = rows_.data();
  pass.columns = node.columns;
  pass.values = node.values;
  pass.bias_value = options.bias_value;
  pass.weights = weights_.data();
  pass.prefetch_weights = weights_.size() * static_cast<int64_t>(sizeof(float)) > kPrefetched;
  pass.bias = bias_;
  pass.shrink_above = shrink_above_;
  pass.largest = largest_;
  pass.smallest = smallest_;
  return pass;
}

void LaneSolver::begin_cost(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options,
                            simd::LanePass& pass) {
  pass.inverse_cost = 1.0f / (2.0f * options.cost);
  if (node.row_weight.size() == 0 && !targets.pair_costs && !options.balanced) return;
  set_costs(node, targets, options);
  pass.inverse_costs = inverse_costs_.data();
}

void LaneSolver::solve(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options, uint64_t stream,
                       const Job& job) {
  held_out_ = nullptr;
  simd::LanePass pass = begin(node, targets, options);
  const int lanes = kernels_->lanes;
  // A child for which all rows are positive, or none, needs no training.
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    if (n_positive_[lane] > 0 && n_positive_[lane] < node.n_rows) pass.live |= static_cast<uint16_t>(1u << lane);
  }
  if (pass.live != 0) {
    alpha_.resize(node.n_rows * lanes);
    begin_cost(node, targets, options, pass);
    pass.alpha = alpha_.data();
    if (options.loss->start_alpha) {
      std::fill_n(alpha_.data(), alpha_.size(), *options.loss->start_alpha);
    } else {
      start_at_means(node, pass);
    }
    descend(node, pass, options, stream, job);
  }
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    bias_[lane] *= options.bias_value;
    if ((pass.live >> lane & 1) != 0) continue;
    for (int64_t column = 0; column < node.n_columns; ++column) weights_[column * lanes + lane] = 0;
    const float margin = options.loss->certain_margin(options.cost * static_cast<float>(node.n_rows));
    bias_[lane] = n_positive_[lane] == 0 ? -margin : margin;
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

// inverse_costs = 1 / (2 C_i). C_i is C times the row's weight, times the factor that balances the classes, and, for
// positives, times the largest cost of the pairs below the child.
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
  float positive_factor[kMaxLanes], negative_factor[kMaxLanes];
  for (int lane = 0; lane < lanes; ++lane) {
    positive_factor[lane] = negative_factor[lane] = 1;
    if (!options.balanced || lane >= targets.n_lanes) continue;
    const float n = static_cast<float>(node.n_rows), n_positive = static_cast<float>(n_positive_[lane]);
    positive_factor[lane] = n / (2 * std::max(n_positive, 1.0f));
    negative_factor[lane] = n / (2 * std::max(n - n_positive, 1.0f));
  }
  for (int64_t row = 0; row < node.n_rows; ++row) {
    const float row_cost = 2 * options.cost * (node.row_weight.size() > 0 ? node.row_weight[row] : 1.0f);
    for (int lane = 0; lane < lanes; ++lane) {
      float& cost = inverse_costs_[row * lanes + lane];
      const bool is_positive = (rows_[row].positive >> lane & 1) != 0;
      cost = 1.0f / (row_cost * (is_positive ? cost * positive_factor[lane] : negative_factor[lane]));
    }
  }
}

// One pass over the first n_order rows of order_; returns how many of them stay active, now at its front.
int64_t LaneSolver::run_pass(int64_t (*kernel)(simd::LanePass&), simd::LanePass& pass, int64_t n_order,
                             const Job& job) {
  int64_t n_active = 0;
  for (int64_t from = 0; from < n_order; from += kRowsPerCheck) {
    job.check();
    pass.order = order_.data() + from;
    pass.n_order = std::min(kRowsPerCheck, n_order - from);
    const int64_t active = kernel(pass);
    std::copy_n(pass.order, active, order_.data() + n_active);
    n_active += active;
  }
  return n_active;
}

void LaneSolver::descend(const NodeRows& node, simd::LanePass& pass, const LinearOptions& options, uint64_t stream,
                         const Job& job) {
  const int lanes = kernels_->lanes;
  order_.resize(node.n_rows);
  int64_t n_order = 0;
  uint16_t shrunk = 0;  // lanes that have shrunk rows
  // Makes all rows active again in these lanes.
  auto activate_all = [&](uint16_t which) {
    n_order = 0;
    for (int64_t row = 0; row < node.n_rows; ++row) {
      if (held_out_ && held_out_[row]) continue;
      order_[n_order++] = static_cast<int32_t>(row);
      rows_[row].active |= which;
    }
    for (int lane = 0; lane < kMaxLanes; ++lane)
      if ((which >> lane & 1) != 0) shrink_above_[lane] = kInfinity;
    shrunk &= static_cast<uint16_t>(~which);
  };
  for (int64_t row = 0; row < node.n_rows; ++row) rows_[row].active = 0;
  activate_all(pass.live);
  pass.ignore_below = kIgnored * options.eps;
  Random random(options.seed, stream);
  const bool dense = pass.columns == nullptr;
  const simd::LossKernels& kernels = kernels_->losses.of[options.loss->id];
  const uint16_t live = pass.live;
  uint16_t waiting = 0;  // lanes that are finished on their active rows
  int lane_passes[kMaxLanes] = {};
  for (int pass_number = 0; pass.live != 0; ++pass_number) {
    if (pass_number % kPassesPerRebuild == kPassesPerRebuild - 1) {
      kernels.rebuild[dense](pass, node.n_rows, node.n_columns);
      // A row shrunk by mistake must not wait until the others are finished: at the limit of float32 they never are.
      activate_all(pass.live);
    }
    random.shuffle(order_.data(), n_order);
    std::fill_n(largest_, kMaxLanes, -kInfinity);
    std::fill_n(smallest_, kMaxLanes, kInfinity);
    pass.shrunk = 0;
    n_order = run_pass(kernels.pass[dense], pass, n_order, job);
    for (int lane = 0; lane < lanes; ++lane) {
      const uint16_t bit = static_cast<uint16_t>(1u << lane);
      if ((pass.live & bit) == 0) continue;
      const bool out_of_passes = ++lane_passes[lane] == options.max_iter;
      if (options.loss->violation(largest_[lane], smallest_[lane]) <= options.eps || out_of_passes) {
        pass.live ^= bit;
        if ((shrunk & bit) != 0 && !out_of_passes) waiting |= bit;
      }
      shrink_above_[lane] = largest_[lane] > 0 ? largest_[lane] : kInfinity;
    }
    shrunk |= pass.shrunk;
    if (pass.live == 0 && waiting != 0) {
      // All lanes are finished on their active rows: check all rows once more, in all lanes together.
      activate_all(waiting);
      pass.live = waiting;
      waiting = 0;
    }
  }
  pass.live = live;
}

// For each lane: the sum of s_i over its positives, and of s_i^2 / (2 C_i) over its positives and over its negatives.
struct LaneSolver::ClassSums {
  double positive_weight[kMaxLanes] = {}, positive_curve[kMaxLanes] = {}, negative_curve[kMaxLanes] = {};
};

LaneSolver::ClassSums LaneSolver::class_sums(const NodeRows& node, const simd::LanePass& pass) const {
  const int lanes = kernels_->lanes;
  const float* row_weight = node.row_weight.size() > 0 ? node.row_weight.data() : nullptr;
  ClassSums sums;
  if (pass.inverse_costs) {
    for (int64_t row = 0; row < node.n_rows; ++row) {
      const float weight = row_weight ? row_weight[row] : 1.0f;
      for (int lane = 0; lane < lanes; ++lane) {
        const float curve = weight * weight * pass.inverse_costs[row * lanes + lane];
        if ((rows_[row].positive >> lane & 1) != 0) {
          sums.positive_weight[lane] += weight;
          sums.positive_curve[lane] += curve;
        } else {
          sums.negative_curve[lane] += curve;
        }
      }
    }
  } else {
    for (int lane = 0; lane < lanes; ++lane) {
      if ((pass.live >> lane & 1) == 0) continue;
      sums.positive_weight[lane] = static_cast<double>(n_positive_[lane]);
      sums.positive_curve[lane] = sums.positive_weight[lane] * pass.inverse_cost;
      sums.negative_curve[lane] = (node.total_weight - sums.positive_weight[lane]) * pass.inverse_cost;
    }
  }
  return sums;
}

// Starts from the best classifier along the means of its positives and negatives: alpha_i = a s_i for positives and
// b s_i for negatives (s the row weights), where a, b >= 0 maximise the dual. With
// P = sum of s_i x_i over positives, N over negatives (bias feature included), p and n the sums of s_i, and P2, N2
// those of s_i^2 / (2 C_i):
//   (P.P + P2) a - P.N b = p,   -P.N a + (N.N + N2) b = n.
void LaneSolver::start_at_means(const NodeRows& node, simd::LanePass& pass) {
  const int lanes = kernels_->lanes;
  const float* row_weight = node.row_weight.size() > 0 ? node.row_weight.data() : nullptr;
  kernels_->add_positive[pass.columns == nullptr](pass, row_weight, node.n_rows);
  double squares[kMaxLanes], cross[kMaxLanes];
  kernels_->inner_products(weights_.data(), node.total.data(), node.n_columns, squares, cross);
  double total_square = 0;
  for (int64_t column = 0; column < node.n_columns; ++column)
    total_square += static_cast<double>(node.total[column]) * node.total[column];

  const ClassSums sums = class_sums(node, pass);
  const double total_bias = node.total_weight * pass.bias_value;
  total_square += total_bias * total_bias;
  alignas(64) float if_positive[kMaxLanes] = {}, if_negative[kMaxLanes] = {}, scale[kMaxLanes] = {},
                    shift[kMaxLanes] = {};
  for (int lane = 0; lane < lanes; ++lane) {
    if ((pass.live >> lane & 1) == 0) continue;
    const double bias = sums.positive_weight[lane] * pass.bias_value;
    const double p_p = squares[lane] + bias * bias, p_t = cross[lane] + bias * total_bias;
    const double p_n = p_t - p_p, n_n = std::max(total_square - 2 * p_t + p_p, 0.0);
    const double p = sums.positive_weight[lane], n = node.total_weight - p;
    const double pp = p_p + sums.positive_curve[lane], nn = n_n + sums.negative_curve[lane];
    const double determinant = pp * nn - p_n * p_n;
    double a = (p * nn + n * p_n) / determinant, b = (n * pp + p * p_n) / determinant;
    if (!(a >= 0 && b >= 0)) {
      // This happens only if the means point in opposite directions; then one of the two is 0.
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

}  // namespace labeltrees::linear
