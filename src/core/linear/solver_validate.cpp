// Training at several costs, with the loss on held-out rows.
#include <algorithm>
#include <cmath>

#include "linear/solver.hpp"

namespace labeltrees::linear {

namespace {

// Once the loss has risen by more than this share, the losses at higher costs are extrapolated.
constexpr double kRise = 0.002;

}  // namespace

// The loss of live lanes on held-out rows, with the weights that would be kept.
double LaneSolver::held_out_loss(const NodeRows& node, const LinearOptions& options, uint16_t live) const {
  const int lanes = kernels_->lanes;
  AlignedScratch<float> kept;
  kept.resize(weights_.size());
  for (int64_t i = 0; i < weights_.size(); ++i)
    kept[i] = std::fabs(weights_[i]) >= options.prune_below ? weights_[i] : 0.0f;
  double sum = 0;
  for (int64_t row = 0; row < node.n_rows; ++row) {
    if (!held_out_[row]) continue;
    alignas(64) float margins[kMaxLanes];
    for (int lane = 0; lane < lanes; ++lane) margins[lane] = bias_[lane] * options.bias_value;
    add_margins(node, row, kept.data(), margins);
    for (int lane = 0; lane < lanes; ++lane) {
      if ((live >> lane & 1) == 0) continue;
      sum += options.loss->value((rows_[row].positive >> lane & 1) != 0 ? margins[lane] : -margins[lane]);
    }
  }
  return sum;
}

HeldOutLosses LaneSolver::validate(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options,
                                   const std::vector<float>& costs, const uint8_t* held_out, uint64_t stream,
                                   const Job& job) {
  held_out_ = held_out;
  simd::LanePass pass = begin(node, targets, options);
  HeldOutLosses found;
  found.at_cost.assign(costs.size(), 0.0);
  int64_t n_held = 0, held_positive[kMaxLanes] = {};
  for (int64_t row = 0; row < node.n_rows; ++row) {
    n_held += held_out[row];
    for (int lane = 0; lane < targets.n_lanes; ++lane)
      held_positive[lane] += held_out[row] && (rows_[row].positive >> lane & 1) != 0;
  }
  for (int lane = 0; lane < targets.n_lanes; ++lane) {
    const int64_t n_trained = n_positive_[lane] - held_positive[lane];
    if (n_trained == 0 || n_trained == node.n_rows - n_held) continue;
    pass.live |= static_cast<uint16_t>(1u << lane);
    found.n_positive += held_positive[lane];
    found.constant +=
        static_cast<double>(n_held) * options.loss->constant_loss(static_cast<double>(held_positive[lane]) /
                                                                  static_cast<double>(std::max<int64_t>(n_held, 1)));
  }
  if (pass.live == 0 || n_held == 0) return found;
  alpha_.resize(node.n_rows * kernels_->lanes);
  std::fill_n(alpha_.data(), alpha_.size(), options.loss->start_alpha.value_or(0.0f));
  pass.alpha = alpha_.data();
  double rise = 0, curvature = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    if (rise > 0) {  // extrapolate the last three by a parabola; costs rise by equal factors
      rise += curvature;
      found.at_cost[i] = found.at_cost[i - 1] + rise;
      continue;
    }
    LinearOptions own = options;
    own.cost = costs[i];
    begin_cost(node, targets, own, pass);
    if (i > 0 && options.loss->start_alpha) {  // alpha is a share of the cost, so the weights grow with it
      const float factor = costs[i] / costs[i - 1];
      for (int64_t at = 0; at < weights_.size(); ++at) weights_[at] *= factor;
      for (float& bias : bias_) bias *= factor;
    }
    descend(node, pass, own, stream, job);
    found.at_cost[i] = held_out_loss(node, own, pass.live);
    if (i == 0 || found.at_cost[i] <= (1 + kRise) * found.at_cost[i - 1]) continue;
    rise = found.at_cost[i] - found.at_cost[i - 1];
    curvature = i > 1 ? std::max(0.0, rise + found.at_cost[i - 2] - found.at_cost[i - 1]) : 0.0;
  }
  return found;
}

}  // namespace labeltrees::linear
