// Builds a binary label tree: splits the labels recursively until a set has at most leaf_size labels.
#pragma once

#include <cstdint>
#include <vector>

#include "labels/label_rows.hpp"
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

// The memory of the embeddings themselves, if the caller no longer needs them and the builder may overwrite it.
struct ReusableRows {
  int32_t* columns = nullptr;
  float* values = nullptr;  // null: the embeddings must not change
};

// IN: rows, the labels of the tree, at least one, in ascending order.
// Memory: two copies of the embeddings (8 bytes per nonzero, 4 if dense), or one if they are reusable, and two copies
// of the rows (24 bytes each): levels alternate between them, so that the labels of a node are contiguous. About 50
// bytes per label and 20 per column of scratch come on top.
TreeArrays build_binary_tree(const LabelRows& rows, const ReusableRows& reusable, const BuildSettings& settings,
                             Job& job);

// The two sides of a set, and the seeds for building the trees of these sides.
struct SetSplit {
  std::vector<uint8_t> is_plus;  // per row
  uint64_t plus_seed, minus_seed;
};

// Splits a set as build_binary_tree does first, for trees whose parts are built in several places.
SetSplit split_set(const LabelRows& rows, const BuildSettings& settings, const Job& job);

}  // namespace labeltrees
