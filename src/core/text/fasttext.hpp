// Pieces of fastText's own model file: the entries of its dictionary, and the tree it makes of label counts.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "text/source.hpp"

namespace labeltrees {

struct FastTextEntries {
  std::vector<uint8_t> text;
  std::vector<int64_t> ends{0}, counts;
  std::vector<uint8_t> types;
  int64_t n_read = 0;  // bytes
};

// n times a string ended by 0, an int64 count and an int8 type. Whatever the bytes hold, nothing behind them is read.
inline FastTextEntries read_fasttext_entries(const uint8_t* bytes, int64_t n_bytes, int64_t n) {
  FastTextEntries entries;
  const uint8_t *at = bytes, *end = bytes + n_bytes;
  for (int64_t i = 0; i < n; ++i) {
    const void* zero = at < end ? std::memchr(at, 0, static_cast<size_t>(end - at)) : nullptr;
    if (!zero || end - static_cast<const uint8_t*>(zero) < 10)
      throw FileError("the dictionary ends after " + std::to_string(i) + " of " + std::to_string(n) + " entries");
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

// fastText's Huffman tree of labels in its order: counts are taken from the last on, and a node wins a tie against a
// label. Node i of the result (the root is 0, its children 2i and 2i + 1 of `children`) has row L - 2 - i of fastText's
// output matrix. Two labels at least, counts at least 0.
inline std::vector<int32_t> fasttext_huffman(const int64_t* counts, int64_t n_labels) {
  constexpr double kNotYet = 1e15;
  const int64_t n_nodes = n_labels - 1;
  std::vector<int64_t> total(static_cast<size_t>(n_nodes), static_cast<int64_t>(kNotYet));
  std::vector<int32_t> children(static_cast<size_t>(2 * n_nodes));
  int64_t leaf = n_labels - 1, node = 0;
  for (int64_t made = 0; made < n_nodes; ++made) {
    int64_t sum = 0;
    for (int64_t side = 0; side < 2; ++side) {
      // Counts of 1e15 and more would let a node be taken that is not made yet.
      const bool take_leaf = leaf >= 0 && (node >= made || counts[leaf] < total[node]);
      if (node >= made && leaf < 0) throw FileError("the counts of the labels make no tree");
      if (node >= made && counts[leaf] >= total[node]) throw FileError("a label's count is 1e15 or more");
      const int32_t child = take_leaf ? static_cast<int32_t>(~leaf) : static_cast<int32_t>(n_nodes - 1 - node);
      sum += take_leaf ? counts[leaf--] : total[node++];
      children[2 * (n_nodes - 1 - made) + side] = child;
    }
    total[made] = sum;
  }
  return children;
}

// For every node, how many nodes with two children lie above it, and the place of its first label, counted from the
// left by `label_place`.
inline void decision_places(const int64_t* child_ptr, const int32_t* children, int64_t n_nodes,
                            const int32_t* label_place, int32_t* depth, int32_t* place) {
  if (n_nodes > 0) depth[0] = 0;
  for (int64_t node = 0; node < n_nodes; ++node)  // a parent comes before its children
    for (int64_t i = child_ptr[node]; i < child_ptr[node + 1]; ++i)
      if (children[i] >= 0) depth[children[i]] = depth[node] + (child_ptr[node + 1] - child_ptr[node] == 2);
  for (int64_t node = n_nodes - 1; node >= 0; --node) {
    const int32_t first = children[child_ptr[node]];
    place[node] = first < 0 ? label_place[~first] : place[first];
  }
}

}  // namespace labeltrees
