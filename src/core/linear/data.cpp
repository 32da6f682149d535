#include "linear/data.hpp"

namespace labeltrees {

Occurrences::Occurrences(const TreeView& tree, const PointLists& labels, int64_t n_points, int32_t n_labels,
                         const float* label_cost, const Job& job)
    : start_(tree.n_edges()), end_(tree.n_edges()) {
  // Count the pairs of each label, then of each node: a child's id is larger than its parent's, so one pass backwards
  // sums up.
  std::vector<int64_t> next(n_labels, 0);
  for (int64_t at = 0; at < labels.indptr[n_points]; ++at) ++next[labels.columns[at]];
  std::vector<int64_t> node_count(tree.n_nodes, 0);
  for (int64_t node = tree.n_nodes - 1; node >= 0; --node) {
    for (int64_t edge = tree.child_ptr[node]; edge < tree.child_ptr[node + 1]; ++edge) {
      const int32_t child = tree.children[edge];
      node_count[node] += child < 0 ? next[~child] : node_count[child];
    }
  }
  // Forwards, each node divides its range among its children. `next` changes from counts to the start of each label.
  std::vector<int64_t> node_start(tree.n_nodes, 0);
  std::vector<bool> placed(n_labels, false);
  for (int64_t node = 0; node < tree.n_nodes; ++node) {
    int64_t at = node_start[node];
    for (int64_t edge = tree.child_ptr[node]; edge < tree.child_ptr[node + 1]; ++edge) {
      const int32_t child = tree.children[edge];
      start_[edge] = at;
      if (child < 0) {
        const int64_t count = next[~child];
        next[~child] = at;
        placed[~child] = true;
        at += count;
      } else {
        node_start[child] = at;
        at += node_count[child];
      }
      end_[edge] = at;
    }
  }
  points_.resize(node_count[0]);
  const bool valued = labels.values != nullptr || label_cost != nullptr;
  if (valued) costs_.resize(node_count[0]);
  for (int64_t point = 0; point < n_points; ++point) {
    if (point % 65536 == 0) job.check();
    for (int64_t at = labels.indptr[point]; at < labels.indptr[point + 1]; ++at) {
      const int32_t label = labels.columns[at];
      if (!placed[label]) continue;
      const int64_t to = next[label]++;
      points_[to] = static_cast<int32_t>(point);
      if (valued) costs_[to] = (labels.values ? labels.values[at] : 1.0f) * (label_cost ? label_cost[label] : 1.0f);
    }
  }
}

}  // namespace labeltrees
