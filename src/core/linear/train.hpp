// Trains the classifiers of a list of node tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "linear/node.hpp"
#include "linear/solver.hpp"

namespace labeltrees::linear {

struct TrainInput {
  Points points;
  PointLists labels;
  int32_t n_labels;
  tree::TreeView tree;
  const float* point_weight;    // (n_points) or null
  const float* label_cost;      // (n_labels) or null
  const int64_t* extra_indptr;  // (n_nodes + 1) additional points per node, negatives of all its children; or null
  const int32_t* extra_points;
  const Occurrences& occurrences;
  const int64_t* edge_ids;  // (n_edges) the edges' numbers in the whole tree, if this is a piece of one; or null
  int64_t max_memory;       // bytes; 0 for no limit
  const StartWeights* start = nullptr;  // classifiers to start from, in the order of the result; or null

  // Selects the random numbers of an edge: the same in the whole tree and in a piece of it.
  uint64_t stream(int64_t edge) const { return static_cast<uint64_t>(edge_ids ? edge_ids[edge] : edge); }
  bool weighted(const LinearOptions& options) const {
    return point_weight || label_cost || labels.values || options.balanced;
  }
};

// A node, and a range of its edges that does not cut a group of lanes (lane_group) in two.
struct NodeTask {
  int64_t node, first_edge, n_edges;
  float cost;  // C
};

// The edges of a node are trained in groups of at most kMaxLanes, as equal in size as possible. lane_group returns the
// first edge of group i relative to the node; for i = n_lane_groups it is the number of edges.
inline int64_t n_lane_groups(int64_t n_edges) { return (n_edges + kMaxLanes - 1) / kMaxLanes; }
inline int64_t lane_group(int64_t n_edges, int64_t i) { return n_edges * i / n_lane_groups(n_edges); }

// One row per classifier, in the order of the tasks: sparse, or for dense points a full matrix in `values`.
struct LinearWeights {
  std::vector<int64_t> indptr;
  std::vector<float> bias;
  std::unique_ptr<int32_t[]> features;
  std::unique_ptr<float[]> values;
};

// Gathers the rows that the classifiers of a node are trained on.
void gather_node(const TrainInput& input, int64_t node, float bias_value, NodeRows& rows, GatherScratch& scratch,
                 const Job& job);

// At most kMaxLanes edges of a node: the first and every `stride`-th after it.
struct SampledEdges {
  int64_t node, first_edge, n_edges, stride;
};

// Trains the classifiers of each task at each of the costs, on the points that are not held out, and returns their
// losses on those that are. held_out: (n_points).
std::vector<HeldOutLosses> validate_linear(const TrainInput& input, const std::vector<SampledEdges>& tasks,
                                           const LinearOptions& options, const std::vector<float>& costs,
                                           const uint8_t* held_out, int n_threads, Job& job);

// Trains each task at its own cost instead of options.cost. Throws std::invalid_argument for a task that is not in the
// tree or cuts a group of lanes.
LinearWeights train_linear(const TrainInput& input, const std::vector<NodeTask>& tasks, const LinearOptions& options,
                           int n_threads, Job& job);

}  // namespace labeltrees::linear
