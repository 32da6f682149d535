// Parts of fastText's model file: the entries of its dictionary, and its Huffman tree of the labels.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/platform.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::text {

struct FastTextEntries {
  std::vector<uint8_t> text;
  std::vector<int64_t> ends{0}, counts;
  std::vector<uint8_t> types;
  int64_t n_read = 0;  // bytes
};

// Reads n entries: a string that ends with 0, an int64 count and an int8 type. The bytes are not trusted: nothing past
// their end is read. Throws FileError.
inline FastTextEntries read_fasttext_entries(const uint8_t* bytes, int64_t n_bytes, int64_t n) {
  FastTextEntries entries;
  const uint8_t *at = bytes, *end = bytes + n_bytes;
  for (int64_t i = 0; i < n; ++i) {
    const void* zero = at < end ? std::memchr(at, 0, static_cast<size_t>(end - at)) : nullptr;
    if (!zero || end - static_cast<const uint8_t*>(zero) < 10)
      throw FileError("the dictionary of the file ends after " + std::to_string(i) + " of " + std::to_string(n) +
                      " entries");
    const auto* stop = static_cast<const uint8_t*>(zero);
    entries.text.insert(entries.text.end(), at, stop);
    entries.ends.push_back(static_cast<int64_t>(entries.text.size()));
    int64_t count;
    std::memcpy(&count, stop + 1, 8);
    entries.counts.push_back(count);
    entries.types.push_back(stop[9]);
    at = stop + 10;
  }
  entries.n_read = at - bytes;
  return entries;
}

// fastText's Huffman tree of the labels: it takes labels from the last one on, and a node before a label with the same
// count. Returns the children: node i has children[2 i] and children[2 i + 1], the root is node 0, and node i has row
// L - 2 - i of fastText's output matrix. Needs at least two labels and counts >= 0.
inline std::vector<int32_t> fasttext_huffman(const int64_t* counts, int64_t n_labels) {
  constexpr double kNotYet = 1e15;
  const int64_t n_nodes = n_labels - 1;
  std::vector<int64_t> total(static_cast<size_t>(n_nodes), static_cast<int64_t>(kNotYet));
  std::vector<int32_t> children(static_cast<size_t>(2 * n_nodes));
  int64_t leaf = n_labels - 1, node = 0;
  for (int64_t made = 0; made < n_nodes; ++made) {
    int64_t sum = 0;
    for (int64_t side = 0; side < 2; ++side) {
      // With a count of 1e15 or more, a node could be taken before it is made.
      const bool take_leaf = leaf >= 0 && (node >= made || counts[leaf] < total[node]);
      if (node >= made && leaf < 0) throw FileError("the label counts of the file do not give a tree");
      if (node >= made && counts[leaf] >= total[node]) throw FileError("the file has a label count of 1e15 or more");
      const int32_t child = take_leaf ? static_cast<int32_t>(~leaf) : static_cast<int32_t>(n_nodes - 1 - node);
      sum += take_leaf ? counts[leaf--] : total[node++];
      children[2 * (n_nodes - 1 - made) + side] = child;
    }
    total[made] = sum;
  }
  return children;
}

// IN: label_place (n_labels), the place of each label from the left.
// OUT: depth (n_nodes), the number of nodes with two children above each node; place (n_nodes), the place of the first
// label below each node.
inline void decision_places(const tree::TreeView& tree, const int32_t* label_place, int32_t* depth, int32_t* place) {
  if (tree.n_nodes > 0) depth[0] = 0;
  for (int64_t node = 0; node < tree.n_nodes; ++node)  // a parent comes before its children
    for (int64_t i = tree.child_ptr[node]; i < tree.child_ptr[node + 1]; ++i)
      if (tree.children[i] >= 0) depth[tree.children[i]] = depth[node] + (tree.n_children(node) == 2);
  for (int64_t node = tree.n_nodes - 1; node >= 0; --node) {
    const int32_t first = tree.children[tree.child_ptr[node]];
    place[node] = first < 0 ? label_place[~first] : place[first];
  }
}

}  // namespace labeltrees::text
