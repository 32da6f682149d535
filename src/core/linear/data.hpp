// The input of linear training: points and their labels in flat arrays that it does not own.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "tree/view.hpp"

namespace labeltrees {

// Points: CSR, or dense where columns is null (every row n_features long).
struct Points {
  int64_t n_points;
  int32_t n_features;
  const int64_t* indptr;
  const int32_t* columns;
  const float* values;
  int64_t n_whole = 0;  // values of the whole dataset, if these are some of its points

  int64_t n_values_of_all() const { return n_whole > 0 ? n_whole : begin(n_points); }
  bool dense() const { return columns == nullptr; }
  int64_t begin(int64_t point) const { return dense() ? point * n_features : indptr[point]; }
  int32_t length(int64_t point) const {
    return dense() ? n_features : static_cast<int32_t>(indptr[point + 1] - indptr[point]);
  }
};

// A sparse matrix with one row per point.
struct PointLists {
  const int64_t* indptr;
  const int32_t* columns;
  const float* values;  // or null: all 1
};

// The (point, label) pairs sorted by the position of the label in a depth-first walk of the tree. The pairs of every
// node are then one range, and so are those of every child, so no node needs a list of its points.
class Occurrences {
 public:
  Occurrences(const TreeView& tree, const PointLists& labels, int64_t n_points, int32_t n_labels,
              const float* label_cost, const Job& job);

  // The range of an edge (a child of a node); a node's own range spans those of its edges.
  int64_t begin(int64_t edge) const { return start_[edge]; }
  int64_t end(int64_t edge) const { return end_[edge]; }
  const int32_t* points() const { return points_.data(); }
  // Per pair: relevance times the cost of the label; null if all are 1.
  const float* costs() const { return costs_.empty() ? nullptr : costs_.data(); }

 private:
  std::vector<int64_t> start_, end_;  // (n_edges)
  std::vector<int32_t> points_;
  std::vector<float> costs_;
};

}  // namespace labeltrees
