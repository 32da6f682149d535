#include "linear/node.hpp"

#include <algorithm>

namespace labeltrees::linear {

Occurrences::Occurrences(const tree::TreeView& tree, const PointLists& labels, int64_t n_points, int32_t n_labels,
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

GatherScratch::GatherScratch(const Points& points) : row_of_point(points.n_points, -1) {
  if (points.dense()) return;
  local_column.resize(points.n_features);
  seen.resize((points.n_features + 63) / 64);
  seen_words.resize((seen.size() + 63) / 64);
}

void NodeRows::gather(const Points& points, const Occurrences& occurrences, int64_t pair_begin, int64_t pair_end,
                      const int32_t* extra, int64_t n_extra, const float* point_weight, float bias_value,
                      GatherScratch& scratch, const Job& job) {
  job.check();
  // The distinct points.
  auto& found = scratch.found;
  found.clear();
  auto meet = [&](int32_t point) {
    if (scratch.row_of_point[point] >= 0 || (point_weight && point_weight[point] <= 0)) return;
    scratch.row_of_point[point] = 0;
    found.push_back(point);
  };
  const int32_t* pair_points = occurrences.points();
  for (int64_t pair = pair_begin; pair < pair_end; ++pair) meet(pair_points[pair]);
  for (int64_t i = 0; i < n_extra; ++i) meet(extra[i]);
  n_rows = static_cast<int64_t>(found.size());
  for (int64_t row = 0; row < n_rows; ++row) scratch.row_of_point[found[row]] = static_cast<int32_t>(row);
  row_of_pair.resize(pair_end - pair_begin);
  for (int64_t pair = pair_begin; pair < pair_end; ++pair)
    row_of_pair[pair - pair_begin] = scratch.row_of_point[pair_points[pair]];
  for (const int32_t point : found) scratch.row_of_point[point] = -1;

  begin.resize(n_rows);
  length.resize(n_rows);
  squared_norm.resize(n_rows);
  row_weight.resize(point_weight ? n_rows : 0);
  total_weight = 0;
  int64_t n_values = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    const int32_t point = found[row];
    begin[row] = points.begin(point);
    length[row] = points.length(point);
    n_values += length[row];
    const float weight = point_weight ? point_weight[point] : 1.0f;
    if (point_weight) row_weight[row] = weight;
    total_weight += weight;
  }
  // A node with more than half of all values copies nothing and uses all columns. Dense rows are never copied. Sums
  // over the columns depend on their number, so training on some of the points must decide as training on all of them.
  identity = points.dense() || 2 * n_values > points.n_values_of_all();
  if (identity) {
    columns = points.columns;
    values = points.values;
    n_columns = points.n_features;
  } else {
    compact(points, found, n_values, scratch, job);
  }
  add_up(points, bias_value);
}

void NodeRows::add_up(const Points& points, float bias_value) {
  total.resize(n_columns);
  total.zero();
  for (int64_t row = 0; row < n_rows; ++row) {
    const float weight = row_weight.size() ? row_weight[row] : 1.0f;
    const float* value = values + begin[row];
    float square = bias_value * bias_value;
    for (int32_t i = 0; i < length[row]; ++i) {
      square += value[i] * value[i];
      total[points.dense() ? i : columns[begin[row] + i]] += weight * value[i];
    }
    squared_norm[row] = square;
  }
}

void NodeRows::compact(const Points& points, const std::vector<int32_t>& rows, int64_t n_values, GatherScratch& scratch,
                       const Job& job) {
  // A bit per feature gives the distinct features in ascending order without sorting.
  auto& seen = scratch.seen;
  auto& seen_words = scratch.seen_words;
  for (const int32_t point : rows) {
    for (int64_t at = points.indptr[point]; at < points.indptr[point + 1]; ++at) {
      const int32_t feature = points.columns[at];
      seen[feature >> 6] |= uint64_t{1} << (feature & 63);
      seen_words[feature >> 12] |= uint64_t{1} << ((feature >> 6) & 63);
    }
  }
  job.check();
  n_columns = 0;
  for (size_t outer = 0; outer < seen_words.size(); ++outer) {
    for (uint64_t words = seen_words[outer]; words != 0; words &= words - 1)
      n_columns += __builtin_popcountll(seen[outer * 64 + static_cast<size_t>(__builtin_ctzll(words))]);
  }
  features.resize(n_columns);
  int32_t column = 0;
  for (size_t outer = 0; outer < seen_words.size(); ++outer) {
    for (uint64_t words = seen_words[outer]; words != 0; words &= words - 1) {
      const size_t word = outer * 64 + static_cast<size_t>(__builtin_ctzll(words));
      for (uint64_t bits = seen[word]; bits != 0; bits &= bits - 1) {
        const int32_t feature = static_cast<int32_t>(word * 64) + __builtin_ctzll(bits);
        scratch.local_column[feature] = column;
        features[column++] = feature;
      }
      seen[word] = 0;
    }
    seen_words[outer] = 0;
  }
  own_columns_.resize(n_values);
  own_values_.resize(n_values);
  int64_t to = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    const int64_t from = begin[row];
    begin[row] = to;
    for (int32_t i = 0; i < length[row]; ++i) own_columns_[to + i] = scratch.local_column[points.columns[from + i]];
    std::copy_n(points.values + from, length[row], own_values_.data() + to);
    to += length[row];
  }
  columns = own_columns_.data();
  values = own_values_.data();
}

}  // namespace labeltrees::linear
