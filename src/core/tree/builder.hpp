// Builds a binary label tree: splits the labels recursively until a set has at most leaf_size labels.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "labels/label_rows.hpp"
#include "tree/arrays.hpp"
#include "tree/split.hpp"

namespace labeltrees::tree {

// Label weights that are computed anew in each node, from the frequencies of the node's labels alone.
//
// With f and c normalised over the n labels of the node:
//   weight_l = frequency * f_l^power + cover * c_l + uniform / n
// If no label of the node covers a point, the middle term is 0.
struct NodeWeights {
  const double* frequencies = nullptr;  // per label; null: the weights of the root are used everywhere
  const double* covers = nullptr;       // per label
  double frequency = 0, power = 0, cover = 0, uniform = 0;

  bool given() const { return frequencies != nullptr; }

  void set(labels::LabelRow* rows, int64_t n) const {
    double total_frequency = 0, total_cover = 0;
    for (int64_t i = 0; i < n; ++i) {
      total_frequency += frequencies[rows[i].label];
      total_cover += covers[rows[i].label];
    }
    const double by_cover = total_cover > 0 ? cover / total_cover : 0;
    const double rest = uniform / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t label = rows[i].label;
      rows[i].weight =
          frequency * std::pow(frequencies[label] / total_frequency, power) + by_cover * covers[label] + rest;
    }
  }
};

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
// (32 bytes each): levels alternate between the two, so that the labels of a node are contiguous. Scratch adds about
// 60 bytes per label and 20 per column.
TreeArrays build_binary_tree(labels::RowBuffer rows, int32_t n_columns, const BuildSettings& settings, Job& job);

// The two sides of a set, and the seeds for building the trees of these sides.
struct SetSplit {
  std::vector<uint8_t> is_plus;  // per row
  uint64_t plus_seed, minus_seed;
};

// Splits a set as build_binary_tree does first, for trees whose parts are built in several places.
SetSplit split_set(const labels::LabelRows& rows, const BuildSettings& settings, const Job& job);

// Trees from label frequencies alone: Huffman's and Fano's codes.
//
// IN: labels (n) with weights (n) >= 0; n >= 1. Equal weights: the smaller label id first.
TreeArrays huffman_tree(const int32_t* labels, const double* weights, int64_t n);
TreeArrays fano_tree(const int32_t* labels, const double* weights, int64_t n);

}  // namespace labeltrees::tree
