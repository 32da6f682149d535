// The input of one node as a separate training problem.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/train.hpp"

namespace labeltrees {

// A flat problem whose only node has the children of the original node. Trained with stream_offset = the node's first
// edge, it gives the same weights to the last bit.
struct NodeProblem {
  int64_t n_rows, n_columns;
  std::vector<int64_t> x_indptr;    // empty for dense points
  std::vector<int32_t> x_columns;   // numbers in `features`; empty for dense points
  std::vector<float> x_values;      //
  std::vector<int32_t> features;    // (n_columns) the original features; empty if all are used
  std::vector<int64_t> y_indptr;    // the children that each row is a positive of
  std::vector<int32_t> y_columns;   //
  std::vector<float> y_values;      // their costs; empty if all are 1
  std::vector<float> row_weight;    // empty if all are equal
  std::vector<int32_t> extra_rows;  // rows that are not positives of any child
};

NodeProblem extract_node(const TrainInput& input, int64_t node, const Job& job);

}  // namespace labeltrees
