// The input of linear training, in flat arrays that it does not own, and the rows of one node.
#pragma once

#include <cstdint>
#include <vector>

#include "common/memory.hpp"
#include "common/threads.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::linear {

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
  Occurrences(const tree::TreeView& tree, const PointLists& labels, int64_t n_points, int32_t n_labels,
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

// The scratch memory that a thread needs to gather rows; reset (all -1, all 0) between nodes.
struct GatherScratch {
  std::vector<int32_t> row_of_point;
  std::vector<int32_t> local_column;
  std::vector<uint64_t> seen, seen_words;  // a bit per feature, and a bit per word of `seen`
  std::vector<int32_t> found;

  GatherScratch(const Points& points);
};

// The rows of a node. Columns are renumbered to the features that occur, in ascending order, so that the weights of its
// classifiers are few and stay in cache. Shared by all children of the node.
struct NodeRows {
  int64_t n_rows = 0;
  int64_t n_columns = 0;
  const int32_t* columns = nullptr;  // the copy below, or the arrays of the points
  const float* values = nullptr;
  AlignedScratch<int64_t> begin;
  AlignedScratch<int32_t> length;
  AlignedScratch<float> squared_norm;   // with the bias feature
  AlignedScratch<float> row_weight;     // empty if all points have the same weight
  AlignedScratch<float> total;          // (n_columns) sum of row_weight times the row
  double total_weight = 0;              // sum of row_weight
  AlignedScratch<int32_t> row_of_pair;  // (pairs of the node) -1 for points without weight
  AlignedScratch<int32_t> features;     // (n_columns) the feature of each column; unused if identity
  bool identity = false;
  std::vector<int32_t> points;  // (n_rows) the point of each row; only if requested

  // `extra`: more points (negative for every child), or null.
  void gather(const Points& points, const Occurrences& occurrences, int64_t pair_begin, int64_t pair_end,
              const int32_t* extra, int64_t n_extra, const float* point_weight, float bias_value,
              GatherScratch& scratch, const Job& job);

 private:
  AlignedScratch<int32_t> own_columns_;
  AlignedScratch<float> own_values_;

  void compact(const Points& points, const std::vector<int32_t>& rows, int64_t n_values, GatherScratch& scratch,
               const Job& job);
  void add_up(const Points& points, float bias_value);  // total and squared_norm
};

}  // namespace labeltrees::linear
