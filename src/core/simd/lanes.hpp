// Training many classifiers at once: the children of a node are trained on the same rows, so their weights are
// interleaved, one lane per child. Each value of a row then needs one load and one multiply-add for all children,
// instead of one gather per child.
#pragma once

#include <cstdint>

namespace labeltrees::simd {

// The kernels of each loss. A new loss needs an id here, its kernels in training.inl, an entry in
// linear/loss.cpp, and one in labeltrees/_losses.py.
enum LossId : int32_t { kSquaredHinge, kLogistic, kLosses };

struct LanePass;

// Training kernels, [sparse, dense].
struct LossKernels {
  // One pass of dual coordinate descent. Returns the number of rows that stay active.
  int64_t (*pass[2])(LanePass& pass);
  // Recomputes weights and bias from alpha, because rounding errors add up over many updates.
  void (*rebuild[2])(const LanePass& pass, int64_t n_rows, int64_t n_columns);
};

// scores[c] = base + log of the score of margin c. Never above base; the lowest finite number for anything lower and
// for NaN. n is a multiple of 16. `power` is for losses whose score has an exponent.
using PathScores = void (*)(const float* margins, int64_t n, float base, float power, float* scores);

struct LossTable {
  LossKernels of[kLosses];
};
struct PathScoresTable {
  PathScores of[kLosses];
};

// How margins become scores: path_scores.of[loss] with this power.
struct ScoreLink {
  LossId loss;
  float power;
};

// A row of a node's problem; one struct, because rows are visited in random order.
struct LaneRow {
  int64_t begin;       // where it starts in columns and values
  int32_t length;      // number of its values
  float squared_norm;  // with the bias feature
  uint16_t positive;   // bit per lane
  uint16_t active;     // lanes that have not shrunk it
};

// One pass over some rows. Arrays marked (lanes) are aligned to a vector.
struct LanePass {
  LaneRow* rows;
  const int32_t* columns;      // node-local; null for dense rows, which are all as long as the weights
  const float* values;         // of all rows
  float bias_value;            // the bias feature
  float inverse_cost;          // 1 / (2 C) for squared hinge, if all costs are equal
  const float* inverse_costs;  // (n_rows, lanes) or null
  // The state.
  float* alpha;               // (n_rows, lanes) in/out
  float* weights;             // (n_columns, lanes) in/out
  bool prefetch_weights;      // there are too many for the cache
  float* bias;                // (lanes) in/out
  uint16_t live;              // lanes that are not finished
  uint16_t shrunk;            // in/out: lanes that have shrunk a row
  const float* shrink_above;  // (lanes)
  float ignore_below;         // smaller projected gradients do not change alpha
  float* largest;             // (lanes) in/out: projected gradients of this pass
  float* smallest;            // (lanes) in/out
  // The rows to visit, in order; a pass moves those that are still active to the front.
  int32_t* order;
  int64_t n_order;
};

// One table for each number of lanes.
struct LaneKernels {
  int lanes;
  LossTable losses;
  // weights += sum of row_weight (null: 1) times the row, over the positive rows of each lane, [sparse, dense].
  void (*add_positive[2])(const LanePass& pass, const float* row_weight, int64_t n_rows);
  // squares = sum_j weights_j^2, cross = sum_j weights_j total_j
  void (*inner_products)(const float* weights, const float* total, int64_t n_columns, double* squares, double* cross);
  // weights_j = scale weights_j + shift total_j
  void (*combine)(float* weights, const float* total, int64_t n_columns, const float* scale, const float* shift);
  // alpha = row_weight (null: 1) times if_positive or if_negative
  void (*start_alpha)(float* alpha, const LaneRow* rows, const float* row_weight, int64_t n_rows,
                      const float* if_positive, const float* if_negative);
  // kept_j: the lanes with |weights_j| >= threshold; counts: their number per lane.
  void (*find_kept)(const float* weights, int64_t n_columns, float threshold, uint16_t* kept, int32_t* counts);
  // margins += sum_i values_i weights_i of one row with n values, in this order, [sparse, dense].
  void (*add_margins[2])(const int32_t* columns, const float* values, int32_t n, const float* weights, float* margins);
};

}  // namespace labeltrees::simd
