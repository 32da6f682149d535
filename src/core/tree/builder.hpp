// The recursion: splits a set of labels again and again into a binary tree whose leaf nodes hold at most leaf_size
// labels.
#pragma once

#include <cstdint>
#include <vector>

#include "labels/label_rows.hpp"
#include "tree/split.hpp"
#include "tree/view.hpp"

namespace labeltrees {

struct BuildSettings {
  SplitSettings split;
  int64_t leaf_size;
  uint64_t seed;
  int n_threads;
};

// Units that job.done counts up to.
constexpr int64_t kProgressUnits = 1000;

// The memory of the embeddings themselves, where the caller has no more need of them.
struct SpentRows {
  int32_t* columns = nullptr;
  float* values = nullptr;  // null: they are not to be touched
};

// rows: the labels to place, at least one, in ascending order.
// Memory: two copies of the embeddings (8 bytes a nonzero, 4 where dense), or one if they may be spent, and two of the
// rows (24 bytes), which take turns from level to level so that a node's labels always lie together, and about 50 bytes
// a label and 20 a column of scratch.
TreeArrays build_binary_tree(const LabelRows& rows, const SpentRows& spent, const BuildSettings& settings, Job& job);

}  // namespace labeltrees
