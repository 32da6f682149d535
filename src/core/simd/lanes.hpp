// Many classifiers at once: the children of a node are trained on the same rows, so their weights stand side by side,
// one lane a child, and a row's non-zero meets all of them with one load and one multiply-add instead of a gather each.
#pragma once

#include <cstdint>

namespace labeltrees {

constexpr int kRowsPerBlock = 8;  // rows are visited in blocks of this many, one bit of a byte each

// One pass over some blocks of rows. Arrays marked (lanes) are aligned to a vector.
struct LanePass {
  // The rows, sparse (columns given) or dense (columns null, every row as long as the weights).
  const int64_t* begin;        // (n_rows) where a row starts in columns and values
  const int32_t* length;       // (n_rows)
  const int32_t* columns;      // node-local
  const float* values;         //
  const float* squared_norm;   // (n_rows) with the bias feature
  float bias_value;            // the bias feature
  // What each lane wants of each row.
  const uint16_t* positive;    // (n_rows) bit per lane
  float inverse_cost;          // 1 / (2 C) for squared hinge, where all costs are the same
  const float* inverse_costs;  // (n_rows, lanes) or null
  // The state.
  float* alpha;                // (n_rows, lanes) in/out
  float* weights;              // (n_columns, lanes) in/out
  float* bias;                 // (lanes) in/out
  uint16_t* active;            // (n_rows) in/out: lanes in which the row is not shrunk
  uint8_t* row_active;         // (n_blocks) in/out: rows with an active lane
  uint16_t live;               // lanes not yet done
  uint16_t shrunk;             // in/out: lanes in which a row was shrunk
  const float* shrink_above;   // (lanes)
  float ignore_below;          // projected gradients smaller than this are left alone
  float* largest;              // (lanes) in/out: projected gradients seen
  float* smallest;             // (lanes) in/out
  const int32_t* order;        // 2 * block + (1 to go backwards)
  int64_t n_order;
};

// One table per number of lanes.
struct LaneKernels {
  int lanes;
  // Dual coordinate descent for the squared hinge loss, [sparse, dense].
  void (*hinge_pass[2])(LanePass& pass);
  // weights += sum of the rows times row_weight (null: 1), each lane over its positive rows only, [sparse, dense].
  void (*add_positive[2])(const LanePass& pass, const float* row_weight, int64_t n_rows);
  // squares = sum_j weights_j^2, cross = sum_j weights_j total_j
  void (*inner_products)(const float* weights, const float* total, int64_t n_columns, double* squares, double* cross);
  // weights_j = scale weights_j + shift total_j
  void (*combine)(float* weights, const float* total, int64_t n_columns, const float* scale, const float* shift);
  // alpha = row_weight (null: 1) times if_positive or if_negative
  void (*start_alpha)(float* alpha, const uint16_t* positive, const float* row_weight, int64_t n_rows,
                      const float* if_positive, const float* if_negative);
  // kept_j: the lanes in which |weights_j| >= threshold; counts: how many in each lane.
  void (*find_kept)(const float* weights, int64_t n_columns, float threshold, uint16_t* kept, int32_t* counts);
};

}  // namespace labeltrees
