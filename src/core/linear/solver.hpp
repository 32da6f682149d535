// Trains up to 16 children of one node together, one lane each.
#pragma once

#include <cstdint>

#include "common/aligned_scratch.hpp"
#include "linear/node.hpp"
#include "simd/kernels.hpp"

namespace labeltrees {

constexpr int kMaxLanes = 16;

struct LinearOptions {
  bool logistic;      // else squared hinge
  float cost;         // C
  float eps;          // stop when projected gradients span less than this; logistic: when none is larger
  int max_iter;       // passes over the rows
  float bias_value;   // the bias feature; 0 for none
  float prune_below;  // smaller weights are dropped
  bool balanced;      // positives and negatives of a classifier weigh the same in sum
  uint64_t seed;
};

// The children solved together: for each, the pairs of the node's range that are positive for it.
struct LaneTargets {
  int n_lanes;
  int64_t pair_begin[kMaxLanes], pair_end[kMaxLanes];  // relative to the node's first pair
  const float* pair_costs;                             // (pairs of the node) or null
};

class LaneSolver {
 public:
  LaneSolver();

  // Solves, and leaves weights() and bias() behind.
  void solve(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options, int64_t first_edge,
             const Job& job);

  int lanes() const { return kernels_->lanes; }
  const LaneKernels& kernels() const { return *kernels_; }
  const float* weights() const { return weights_.data(); }  // (n_columns, lanes)
  const float* bias() const { return bias_; }               // times the bias feature
  int64_t passes() const { return passes_; }

 private:
  const Kernels& table_;
  const LaneKernels* kernels_ = nullptr;
  AlignedScratch<float> alpha_, weights_, inverse_costs_;
  AlignedScratch<LaneRow> rows_;
  AlignedScratch<int32_t> order_;
  alignas(64) float bias_[kMaxLanes], largest_[kMaxLanes], smallest_[kMaxLanes], shrink_above_[kMaxLanes];
  int64_t n_positive_[kMaxLanes];
  int64_t passes_ = 0;

  void set_rows(const NodeRows& node, const LaneTargets& targets);
  void set_costs(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options);
  void start(const NodeRows& node, LanePass& pass);
  void descend(const NodeRows& node, LanePass& pass, const LinearOptions& options, int64_t first_edge, const Job& job);
};

}  // namespace labeltrees
