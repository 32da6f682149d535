// Continues training from existing classifiers.
#include <algorithm>

#include "linear/solver.hpp"

namespace labeltrees::linear {

namespace {

// The first of [at, end), which rises, that is not below `feature`; it is usually near.
const int32_t* seek(const int32_t* at, const int32_t* end, int32_t feature) {
  int64_t step = 1;
  for (; step < end - at && at[step] < feature; step *= 2) at += step;
  return std::lower_bound(at, std::min(at + step + 1, end), feature);
}

}  // namespace

void LaneSolver::solve_from(const StartWeights& start, int64_t first_row, const NodeRows& node,
                            const LaneTargets& targets, const LinearOptions& options, uint64_t stream, const Job& job) {
  held_out_ = nullptr;
  simd::LanePass pass = begin(node, targets, options);
  pass.live = static_cast<uint16_t>((1u << targets.n_lanes) - 1);
  alpha_.resize(node.n_rows * kernels_->lanes);
  begin_cost(node, targets, options, pass);
  pass.alpha = alpha_.data();
  set_start(start, first_row, node, options, targets.n_lanes);
  start_alpha(start, node, pass, options);
  LinearOptions few_passes = options;  // a rebuild would lose the points that are not among the rows
  few_passes.max_iter = std::min(options.max_iter, kPassesPerRebuild - 2);
  descend(node, pass, few_passes, stream, job);
  for (int lane = 0; lane < targets.n_lanes; ++lane) bias_[lane] *= options.bias_value;
}

void LaneSolver::set_start(const StartWeights& start, int64_t first_row, const NodeRows& node,
                           const LinearOptions& options, int n_lanes) {
  const int lanes = kernels_->lanes;
  const int32_t* end = node.features.data() + node.n_columns;
  for (int lane = 0; lane < n_lanes; ++lane) {
    untouched_[lane].clear();
    const int32_t* at = node.features.data();
    for (int64_t i = start.indptr[first_row + lane]; i < start.indptr[first_row + lane + 1]; ++i) {
      int64_t column = start.features[i];
      if (!node.identity) {
        at = seek(at, end, start.features[i]);
        if (at == end || *at != start.features[i]) {
          untouched_[lane].push_back(i);
          continue;
        }
        column = at - node.features.data();
      }
      weights_[column * lanes + lane] = start.values[i];
    }
    bias_[lane] = options.bias_value == 0 ? 0 : start.bias[first_row + lane] / options.bias_value;
  }
}

// margins: aligned.
void LaneSolver::add_margins(const NodeRows& node, int64_t row, const float* weights, float* margins) const {
  const bool dense = node.columns == nullptr;
  const int64_t begin = node.begin[row];
  kernels_->add_margins[dense](dense ? nullptr : node.columns + begin, node.values + begin, node.length[row], weights,
                               margins);
}

// At the optimum alpha follows from the margin of a row. New rows have not contributed to the weights yet.
void LaneSolver::start_alpha(const StartWeights& start, const NodeRows& node, const simd::LanePass& pass,
                             const LinearOptions& options) {
  const int lanes = kernels_->lanes;
  for (int64_t row = 0; row < node.n_rows; ++row) {
    float* alpha = alpha_.data() + row * lanes;
    if (start.is_new[node.points[row]] != 0) {
      std::fill_n(alpha, lanes, options.loss->start_alpha ? *options.loss->start_alpha : 0.0f);
      continue;
    }
    alignas(64) float margins[kMaxLanes];
    for (int lane = 0; lane < lanes; ++lane) margins[lane] = pass.bias_value * bias_[lane];
    add_margins(node, row, weights_.data(), margins);
    for (int lane = 0; lane < lanes; ++lane) {
      const float margin = (rows_[row].positive >> lane & 1) != 0 ? margins[lane] : -margins[lane];
      const float diagonal = pass.inverse_costs ? pass.inverse_costs[row * lanes + lane] : pass.inverse_cost;
      alpha[lane] = options.loss->start_alpha ? -margin : std::max(1.0f - margin, 0.0f) / diagonal;
    }
  }
}

}  // namespace labeltrees::linear
