// The rows a node's classifiers are trained on.
#pragma once

#include <cstdint>
#include <vector>

#include "common/aligned_scratch.hpp"
#include "linear/data.hpp"

namespace labeltrees {

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
  AlignedScratch<int32_t> features;     // (n_columns) what a column is called outside; unused if identity
  bool identity = false;

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

}  // namespace labeltrees
