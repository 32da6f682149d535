// Trains children of one node with the logistic loss, one after the other, by dual coordinate descent (Yu, Huang and
// Lin, 2011). It leaves its weights in the lanes of LaneSolver, so that what follows is the same.
#pragma once

#include <cstdint>
#include <vector>

#include "linear_buffer.hpp"
#include "linear_solver.hpp"

namespace labeltrees {

class LogisticSolver {
 public:
  LogisticSolver() : table_(active_kernels()) {}

  void solve(const NodeRows& node, const LaneTargets& targets, const LinearOptions& options, int64_t first_edge,
             const Job& job);

  int lanes() const { return kernels_->lanes; }
  const LaneKernels& kernels() const { return *kernels_; }
  const float* weights() const { return weights_.data(); }  // (n_columns, lanes)
  const float* bias() const { return bias_; }               // times the bias feature

 private:
  int64_t mark_positive(const NodeRows& node, const LaneTargets& targets, int lane);
  void set_costs(const NodeRows& node, const LinearOptions& options, int64_t n_positive);
  void descend(const NodeRows& node, const LinearOptions& options, uint64_t stream, const Job& job);

  const Kernels& table_;
  const LaneKernels* kernels_ = nullptr;
  Buffer<float> weights_;
  alignas(64) float bias_[kMaxLanes];
  std::vector<float> positive_;  // per row: cost as a positive, 0 for a negative
  std::vector<double> cost_;     // per row
  std::vector<double> alpha_;    // per row, in (0, cost)
  std::vector<double> w_;        // per column of one classifier, its bias last
  std::vector<int32_t> order_;
};

}  // namespace labeltrees
