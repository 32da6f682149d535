// Builds a binary label tree: splits the labels recursively until a set has at most leaf_size labels.
#pragma once

#include <cstdint>
#include <vector>

#include "labels/row_buffer.hpp"
#include "tree/node_weights.hpp"
#include "tree/split.hpp"
#include "tree/view.hpp"

namespace labeltrees {

struct BuildSettings {
  SplitSettings split;
  int64_t leaf_size;
  uint64_t seed;
  int n_threads;
  NodeWeights weights;  // if given, replaces the weights of the rows below the root
};

// job.done counts up to this.
constexpr int64_t kProgressUnits = 1000;

// IN: rows, the labels of the tree, at least one, in ascending order, sparse ones with their cores first; their columns
// and values may be overwritten.
// Memory: a copy of the embeddings (8 bytes per nonzero), unless they are dense or have few columns, and of the rows
// (32 bytes each): levels alternate between the two, so that the labels of a node are contiguous. About 60 bytes per
// label and 20 per column of scratch come on top.
TreeArrays build_binary_tree(RowBuffer rows, int32_t n_columns, const BuildSettings& settings, Job& job);

// The two sides of a set, and the seeds for building the trees of these sides.
struct SetSplit {
  std::vector<uint8_t> is_plus;  // per row
  uint64_t plus_seed, minus_seed;
};

// Splits a set as build_binary_tree does first, for trees whose parts are built in several places.
SetSplit split_set(const LabelRows& rows, const BuildSettings& settings, const Job& job);

}  // namespace labeltrees
