// A set of labels prepared for many searches: bitmaps of its labels and of the nodes that lead to them.
#pragma once

#include <cstdint>
#include <vector>

#include "search/links.hpp"

namespace labeltrees {

// Bitmaps by tree, empty if they are not worth it.
using NodeBits = std::vector<std::vector<uint64_t>>;

inline void set_bit(std::vector<uint64_t>& bits, int32_t id) { bits[id >> 6] |= uint64_t{1} << (id & 63); }
inline bool has_bit(const uint64_t* bits, int32_t id) { return bits[id >> 6] >> (id & 63) & 1; }

struct LabelSet {
  // A search that excludes fewer labels than one in this many gains nothing from knowing which nodes are empty.
  static constexpr int64_t kExcludedShare = 8;

  const void* owner = nullptr;   // the engine whose trees the nodes belong to
  int64_t n = 0;                 // labels in the set
  std::vector<uint64_t> labels;  // the set
  NodeBits inside;               // the ancestors of labels in the set, for candidates
  NodeBits outside;              // the ancestors of labels not in the set, for large sets to exclude

  // links(tree) returns the TreeLinks of a tree, which must have been required.
  template <class LinksOf>
  LabelSet(const void* engine, const int32_t* ids, int64_t n_ids, int32_t n_labels, size_t n_trees, LinksOf&& links)
      : owner(engine), labels(static_cast<size_t>(n_labels / 64 + 1), 0) {
    for (int64_t i = 0; i < n_ids; ++i) {
      n += !has_bit(labels.data(), ids[i]);
      set_bit(labels, ids[i]);
    }
    inside.resize(n_trees);
    const bool is_large = n * kExcludedShare >= n_labels;
    if (is_large) outside.resize(n_trees);
    for (size_t tree = 0; tree < n_trees; ++tree) {
      const TreeLinks& of_tree = links(tree);
      inside[tree].assign(static_cast<size_t>(of_tree.n_nodes() / 64 + 1), 0);
      for (int64_t i = 0; i < n_ids; ++i) mark(of_tree, ids[i], inside[tree]);
      if (!is_large) continue;
      outside[tree].assign(inside[tree].size(), 0);
      for (int32_t label = 0; label < n_labels; ++label)
        if (!has_bit(labels.data(), label)) mark(of_tree, label, outside[tree]);
    }
  }

 private:
  static void mark(const TreeLinks& links, int32_t label, std::vector<uint64_t>& nodes) {
    for (int32_t node = links.parent_of_label(label); node >= 0 && !has_bit(nodes.data(), node);) {
      set_bit(nodes, node);
      node = links.parent_of_node(node);
    }
  }
};

}  // namespace labeltrees
