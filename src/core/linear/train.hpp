// Trains the classifiers of a whole tree.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "linear/data.hpp"
#include "linear/solver.hpp"

namespace labeltrees {

struct TrainInput {
  Points points;
  PointLists labels;
  int32_t n_labels;
  TreeView tree;
  const float* point_weight;    // (n_points) or null
  const float* label_cost;      // (n_labels) or null
  const int64_t* extra_indptr;  // (n_nodes + 1) more points per node, negative for all its children; or null
  const int32_t* extra_points;
  int64_t max_memory;  // bytes; 0 for no limit

  bool weighted(const LinearOptions& options) const {
    return point_weight || label_cost || labels.values || options.balanced;
  }
};

// One row a classifier, in the order of the tree's edges: sparse, or for dense points a full matrix in `values`.
struct LinearWeights {
  std::vector<int64_t> indptr;
  std::vector<float> bias;
  std::unique_ptr<int32_t[]> features;
  std::unique_ptr<float[]> values;
};

LinearWeights train_linear(const TrainInput& input, const LinearOptions& options, int n_threads, Job& job);

}  // namespace labeltrees
