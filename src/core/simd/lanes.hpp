// Many classifiers at once: the children of a node are trained on the same rows, so their weights stand side by side,
// one lane a child, and a row's non-zero meets all of them with one load and one multiply-add instead of a gather each.
#pragma once

#include <cstdint>

namespace labeltrees {

// A row of a node's problem, together because rows are visited at random.
struct LaneRow {
  int64_t begin;       // where it starts in columns and values
  int32_t length;      //
  float squared_norm;  // with the bias feature
  uint16_t positive;   // bit per lane
  uint16_t active;     // lanes in which it is not shrunk
};

// One pass over some rows. Arrays marked (lanes) are aligned to a vector.
struct LanePass {
  LaneRow* rows;
  const int32_t* columns;      // node-local; null for dense rows, which are all as long as the weights
  const float* values;         //
  float bias_value;            // the bias feature
  float inverse_cost;          // 1 / (2 C) for squared hinge, where all costs are the same
  const float* inverse_costs;  // (n_rows, lanes) or null
  // The state.
  float* alpha;               // (n_rows, lanes) in/out
  float* weights;             // (n_columns, lanes) in/out
  float* bias;                // (lanes) in/out
  uint16_t live;              // lanes not yet done
  uint16_t shrunk;            // in/out: lanes in which a row was shrunk
  const float* shrink_above;  // (lanes)
  float ignore_below;         // projected gradients smaller than this are left alone
  float* largest;             // (lanes) in/out: projected gradients seen
  float* smallest;            // (lanes) in/out
  // The rows to visit, in order; those still active stay at the front of the list.
  int32_t* order;
  int64_t n_order;
};

// One table per number of lanes.
struct LaneKernels {
  int lanes;
  // Dual coordinate descent for the squared hinge loss, [sparse, dense]; returns how many rows stay active.
  int64_t (*hinge_pass[2])(LanePass& pass);
  // The same for the logistic loss; alpha holds log(a / (C - a)). No row is ever shrunk.
  int64_t (*logistic_pass[2])(LanePass& pass);
  // weights += sum of the rows times row_weight (null: 1), each lane over its positive rows only, [sparse, dense].
  void (*add_positive[2])(const LanePass& pass, const float* row_weight, int64_t n_rows);
  // weights and bias anew from alpha, against the rounding errors of many updates, [sparse, dense].
  void (*rebuild_hinge[2])(const LanePass& pass, int64_t n_rows, int64_t n_columns);
  void (*rebuild_logistic[2])(const LanePass& pass, int64_t n_rows, int64_t n_columns);
  // squares = sum_j weights_j^2, cross = sum_j weights_j total_j
  void (*inner_products)(const float* weights, const float* total, int64_t n_columns, double* squares, double* cross);
  // weights_j = scale weights_j + shift total_j
  void (*combine)(float* weights, const float* total, int64_t n_columns, const float* scale, const float* shift);
  // alpha = row_weight (null: 1) times if_positive or if_negative
  void (*start_alpha)(float* alpha, const LaneRow* rows, const float* row_weight, int64_t n_rows,
                      const float* if_positive, const float* if_negative);
  // kept_j: the lanes in which |weights_j| >= threshold; counts: how many in each lane.
  void (*find_kept)(const float* weights, int64_t n_columns, float threshold, uint16_t* kept, int32_t* counts);
};

}  // namespace labeltrees
