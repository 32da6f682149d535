#include "tree/placement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace labeltrees::tree {

namespace {

constexpr int kLanes = 16;

// The centres of up to 16 children side by side: a product with a label reads one cache line per feature.
class Centres {
 public:
  explicit Centres(int64_t n_columns) : sums_(n_columns * kLanes, 0.0f), is_used_(n_columns, 0) {}

  void clear() {
    for (const int32_t column : columns_) {
      std::fill_n(sums_.data() + int64_t{column} * kLanes, kLanes, 0.0f);
      is_used_[column] = 0;
    }
    columns_.clear();
    std::fill_n(scale_, kLanes, 0.0);
  }

  void set(int lane, const PlacementRows& rows, const int32_t* labels, int64_t n_labels) {
    double mass = 0;
    for (int64_t i = 0; i < n_labels; ++i) {
      // A single label is its own centre, whatever its weight.
      const double weight = n_labels == 1 ? 1.0 : rows.weights[labels[i]];
      mass += rows.weights[labels[i]];
      if (weight <= 0) continue;
      for (int64_t at = rows.indptr[labels[i]]; at < rows.indptr[labels[i] + 1]; ++at) {
        const int32_t column = rows.columns[at];
        if (!is_used_[column]) columns_.push_back(column);
        is_used_[column] = 1;
        sums_[int64_t{column} * kLanes + lane] += static_cast<float>(weight * rows.values[at]);
      }
    }
    mean_[lane] = mass / static_cast<double>(std::max<int64_t>(n_labels, 1));
  }

  // To be called when all lanes are set.
  void finish() {
    double squares[kLanes] = {};
    for (const int32_t column : columns_)
      for (int lane = 0; lane < kLanes; ++lane) {
        const double sum = sums_[int64_t{column} * kLanes + lane];
        squares[lane] += sum * sum;
      }
    for (int lane = 0; lane < kLanes; ++lane) scale_[lane] = squares[lane] > 0 ? 1 / std::sqrt(squares[lane]) : 0;
  }

  void cosines(const PlacementRows& rows, int32_t label, double* out) const {
    float dots[kLanes] = {};
    for (int64_t at = rows.indptr[label]; at < rows.indptr[label + 1]; ++at) {
      const float* sums = sums_.data() + int64_t{rows.columns[at]} * kLanes;
      for (int lane = 0; lane < kLanes; ++lane) dots[lane] += rows.values[at] * sums[lane];
    }
    for (int lane = 0; lane < kLanes; ++lane) out[lane] = dots[lane] * scale_[lane];
  }

  double mean_weight(int lane) const { return mean_[lane]; }

 private:
  std::vector<float> sums_;  // (n_columns, kLanes)
  std::vector<uint8_t> is_used_;
  std::vector<int32_t> columns_;  // those that are used
  double scale_[kLanes] = {}, mean_[kLanes] = {};
};

// The new labels at a node: a range of those that are on their way.
struct Group {
  int64_t node, begin, end;
};

// IN: pairs of a node and a label, by node. OUT: waiting, the labels.
std::vector<Group> group_by_node(const std::vector<std::pair<int32_t, int32_t>>& pairs, std::vector<int32_t>& waiting) {
  std::vector<Group> groups;
  waiting.clear();
  for (const auto& [node, label] : pairs) {
    const auto at = static_cast<int64_t>(waiting.size());
    if (groups.empty() || groups.back().node != node) groups.push_back({node, at, at});
    waiting.push_back(label);
    groups.back().end = at + 1;
  }
  return groups;
}

}  // namespace

void find_homes(const TreeView& tree, const int32_t* order, const int64_t* start, const int64_t* n_below,
                const PlacementRows& rows, double similarity, double frequency, const int32_t* labels, int64_t n_labels,
                int64_t* homes, int n_threads) {
  std::vector<int32_t> waiting(n_labels), best(n_labels);
  for (int64_t i = 0; i < n_labels; ++i) waiting[i] = static_cast<int32_t>(i);
  std::vector<Group> groups{{0, 0, n_labels}};
  std::vector<Centres> centres;
  while (!groups.empty() && !waiting.empty()) {
    const int n_used = static_cast<int>(std::min<int64_t>(std::max(n_threads, 1), static_cast<int64_t>(groups.size())));
    while (static_cast<int>(centres.size()) < n_used) centres.emplace_back(rows.n_columns);
    parallel_for(static_cast<int64_t>(groups.size()), n_used, [&](int64_t number, int thread) {
      const Group& group = groups[number];
      Centres& own = centres[thread];
      double total = 0;
      for (int64_t i = 0; i < n_below[group.node]; ++i) total += rows.weights[order[start[group.node] + i]];
      if (total == 0) total = 1;
      std::vector<double> highest(group.end - group.begin, -std::numeric_limits<double>::infinity());
      const int64_t last = tree.child_ptr[group.node + 1];
      for (int64_t edge = tree.child_ptr[group.node]; edge < last; edge += kLanes) {
        const int n_lanes = static_cast<int>(std::min<int64_t>(kLanes, last - edge));
        own.clear();
        for (int lane = 0; lane < n_lanes; ++lane) {
          const int32_t child = tree.children[edge + lane], label = ~child;
          if (child < 0)
            own.set(lane, rows, &label, 1);
          else
            own.set(lane, rows, order + start[child], n_below[child]);
        }
        own.finish();
        for (int64_t i = group.begin; i < group.end; ++i) {
          const int32_t label = labels[waiting[i]];
          double cosines[kLanes] = {};
          if (similarity > 0) own.cosines(rows, label, cosines);
          for (int lane = 0; lane < n_lanes; ++lane) {
            const double away = std::abs(rows.weights[label] - own.mean_weight(lane)) / total;
            const double score = similarity * cosines[lane] - frequency * away;
            if (score <= highest[i - group.begin]) continue;
            highest[i - group.begin] = score;
            best[i] = tree.children[edge + lane];
          }
        }
      }
    });
    std::vector<std::pair<int32_t, int32_t>> going;  // (node, new label)
    for (const Group& group : groups)
      for (int64_t i = group.begin; i < group.end; ++i) {
        homes[waiting[i]] = group.node;
        if (best[i] >= 0) going.emplace_back(best[i], waiting[i]);
      }
    std::sort(going.begin(), going.end());
    groups = group_by_node(going, waiting);
  }
}

}  // namespace labeltrees::tree
