#include "linear/memory.hpp"

#include <algorithm>
#include <functional>

namespace labeltrees::linear {

MemoryPlan::MemoryPlan(const Points& points, const PointLists& labels, const tree::TreeView& tree, int32_t n_labels,
                       const int64_t* extra_indptr, bool weighted)
    : points_(points), tree_(tree), n_labels_(n_labels), weighted_(weighted), sizes_(tree.n_nodes) {
  std::vector<int64_t> label_pairs(n_labels, 0), label_values(n_labels, 0);
  for (int64_t point = 0; point < points.n_points; ++point) {
    for (int64_t at = labels.indptr[point]; at < labels.indptr[point + 1]; ++at) {
      ++label_pairs[labels.columns[at]];
      label_values[labels.columns[at]] += points.length(point);
    }
  }
  // A child's id is larger than its parent's, so one pass from the last node to the first sums up.
  for (int64_t node = tree.n_nodes - 1; node >= 0; --node) {
    NodeSize& size = sizes_[node];
    for (int64_t edge = tree.child_ptr[node]; edge < tree.child_ptr[node + 1]; ++edge) {
      const int32_t child = tree.children[edge];
      size.pairs += child < 0 ? label_pairs[~child] : sizes_[child].pairs;
      size.values += child < 0 ? label_values[~child] : sizes_[child].values;
    }
  }
  n_pairs_ = sizes_[0].pairs;
  const int64_t all_values = points.begin(points.n_points);
  for (int64_t node = 0; node < tree.n_nodes; ++node) {
    NodeSize& size = sizes_[node];
    const int64_t extra = extra_indptr ? extra_indptr[node + 1] - extra_indptr[node] : 0;
    size.rows = std::min(size.pairs + extra, points.n_points);
    size.values = extra > 0 ? all_values : std::min(size.values, all_values);
    size.columns = points.dense() ? points.n_features : std::min<int64_t>(size.values, points.n_features);
  }
}

int64_t MemoryPlan::rows_bytes(int64_t node) const {
  const NodeSize& size = sizes_[node];
  // begin, length, squared_norm, row_weight; row_of_pair; total, features; the copy of at most half of all values.
  const int64_t copied = points_.dense() ? 0 : std::min(size.values, points_.begin(points_.n_points) / 2);
  return size.rows * (weighted_ ? 20 : 16) + size.pairs * 4 + size.columns * 8 + copied * 8;
}

int64_t MemoryPlan::group_bytes(int64_t node) const {
  const NodeSize& size = sizes_[node];
  const int64_t n_groups = n_lane_groups(tree_.n_children(node));
  const int64_t widest = (tree_.n_children(node) + n_groups - 1) / n_groups;
  const int64_t lanes = widest <= 4 ? 4 : widest <= 8 ? 8 : 16;
  // rows, order, alpha, costs; weights, kept.
  return size.rows * (static_cast<int64_t>(sizeof(simd::LaneRow)) + 4 + lanes * (weighted_ ? 8 : 4)) +
         size.columns * (lanes * 4 + 2);
}

MemoryNeed MemoryPlan::need(int n_threads) const {
  MemoryNeed need{};
  const int64_t n_edges = tree_.n_edges();
  std::vector<int64_t> largest;  // the n_threads largest groups; the first of a node includes its rows
  for (int64_t node = 0; node < tree_.n_nodes; ++node) {
    for (int64_t group = 0; group < std::min<int64_t>(n_lane_groups(tree_.n_children(node)), n_threads); ++group) {
      largest.push_back(group_bytes(node) + (group == 0 ? rows_bytes(node) : 0));
      std::push_heap(largest.begin(), largest.end(), std::greater<>());
      if (static_cast<int>(largest.size()) > n_threads) {
        std::pop_heap(largest.begin(), largest.end(), std::greater<>());
        largest.pop_back();
      }
    }
    if (!points_.dense()) need.result += sizes_[node].columns * 8 * (tree_.n_children(node));
  }
  for (const int64_t bytes : largest) {
    need.groups += bytes;
    need.largest_group = std::max(need.largest_group, bytes);
  }
  if (points_.dense()) need.result = n_edges * points_.n_features * 4;
  need.result += n_edges * 12;
  // The pairs by label and their ranges, a list of tasks, and per thread a map of points and one of features.
  need.fixed = n_pairs_ * (weighted_ ? 8 : 4) + n_edges * 16 + tree_.n_nodes * 64 + int64_t{n_labels_} * 9 +
               int64_t{n_threads} * (points_.n_points * 8 + (points_.dense() ? 0 : int64_t{points_.n_features} * 5) +
                                     WeightQueue::kBytesPerChunk);
  return need;
}

}  // namespace labeltrees::linear
