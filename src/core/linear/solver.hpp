// Trains up to 16 children of one node together, one lane per child.
#pragma once

#include <cstdint>
#include <vector>

#include "common/memory.hpp"
#include "linear/loss.hpp"
#include "linear/node.hpp"
#include "simd/kernels.hpp"

namespace labeltrees::linear {

constexpr int kMaxLanes = 16;
constexpr int kPassesPerRebuild = 64;

struct LinearOptions {
  const Loss* loss;
  float cost;         // C
  float eps;          // stop when Loss::violation is at most this
  int max_iter;       // maximum number of passes over the rows
  float bias_value;   // the bias feature; 0 for none
  float prune_below;  // smaller weights are dropped
  bool balanced;      // positives and negatives of a classifier have the same total weight
  uint64_t seed;
};

// The children to train together: for each, the range of its positive pairs.
struct LaneTargets {
  int n_lanes;
  int64_t pair_begin[kMaxLanes], pair_end[kMaxLanes];  // relative to the node's first pair
  const float* pair_costs;                             // (pairs of the node) or null
};

// Existing classifiers to start from, one sparse row per classifier to train. They were trained on the points that are
// not new.
struct StartWeights {
  const int64_t* indptr;
  const int32_t* features;  // rising within a row
  const float* values;
  const float* bias;
  const uint8_t* is_new;  // (n_points)
};

// The losses of the classifiers of a group on held-out rows: at each cost, and with the best constant margins.
struct HeldOutLosses {
  std::vector<double> at_cost;
  double constant = 0;
  int64_t n_positive = 0;
};

class LaneSolver {
 public:
  LaneSolver();

  // Trains the classifiers; the results are weights() and bias(). `stream`: selects the random numbers.
  void solve(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options, uint64_t stream,
             const Job& job);

  // The same, but starts from the classifiers in `start`, from its row `first_row` on. Rows that are not new get the
  // dual variables that match these classifiers. Earlier training points that are not among the rows keep their part of
  // the weights.
  void solve_from(const StartWeights& start, int64_t first_row, const NodeRows& node, const LaneTargets& targets,
                  const LinearOptions& options, uint64_t stream, const Job& job);

  // After solve_from: the weights of a lane's start whose features no row has, as positions in start.values.
  const std::vector<int64_t>& untouched(int lane) const { return untouched_[lane]; }

  // Trains at each of the rising `costs` instead of options.cost, each time from the previous solution, on the rows
  // that are not held out. Adds up the loss on the held-out rows, for classifiers with training rows of both classes.
  HeldOutLosses validate(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options,
                         const std::vector<float>& costs, const uint8_t* held_out, uint64_t stream, const Job& job);

  int lanes() const { return kernels_->lanes; }
  const simd::LaneKernels& kernels() const { return *kernels_; }
  const float* weights() const { return weights_.data(); }  // (n_columns, lanes)
  const float* bias() const { return bias_; }               // already multiplied with the bias feature

 private:
  const simd::Kernels& table_;
  const simd::LaneKernels* kernels_ = nullptr;
  AlignedScratch<float> alpha_, weights_, inverse_costs_;
  AlignedScratch<simd::LaneRow> rows_;
  AlignedScratch<int32_t> order_;
  alignas(64) float bias_[kMaxLanes], largest_[kMaxLanes], smallest_[kMaxLanes], shrink_above_[kMaxLanes];
  int64_t n_positive_[kMaxLanes];
  std::vector<int64_t> untouched_[kMaxLanes];
  const uint8_t* held_out_ = nullptr;  // (n_rows) rows not to train on; null: all are trained on

  simd::LanePass begin(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options);
  void begin_cost(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options, simd::LanePass& pass);
  double held_out_loss(const NodeRows& node, const LinearOptions& options, uint16_t live) const;
  void set_rows(const NodeRows& node, const LaneTargets& targets);
  void set_costs(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options);
  struct ClassSums;
  ClassSums class_sums(const NodeRows& node, const simd::LanePass& pass) const;
  void set_start(const StartWeights& start, int64_t first_row, const NodeRows& node, const LinearOptions& options,
                 int n_lanes);
  void start_alpha(const StartWeights& start, const NodeRows& node, const simd::LanePass& pass,
                   const LinearOptions& options);
  void add_margins(const NodeRows& node, int64_t row, const float* weights, float* margins) const;
  void start_at_means(const NodeRows& node, simd::LanePass& pass);
  int64_t run_pass(int64_t (*kernel)(simd::LanePass&), simd::LanePass& pass, int64_t n_order, const Job& job);
  void descend(const NodeRows& node, simd::LanePass& pass, const LinearOptions& options, uint64_t stream,
               const Job& job);
};

}  // namespace labeltrees::linear
