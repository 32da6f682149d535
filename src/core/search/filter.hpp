// Which labels a query may return.
#pragma once

#include <cstdint>
#include <vector>

#include "search/links.hpp"

namespace labeltrees {

// Bitmaps, null for no restriction.
struct LabelFilter {
  const uint64_t* labels = nullptr;    // allowed labels
  const uint64_t* nodes = nullptr;     // their ancestors; set with `labels`
  const uint64_t* excluded = nullptr;  // labels not to return

  static bool has(const uint64_t* bits, int32_t id) { return bits[id >> 6] >> (id & 63) & 1; }
  bool allows_label(int32_t label) const {
    return (!labels || has(labels, label)) && (!excluded || !has(excluded, label));
  }
  bool allows_node(int32_t node) const { return !nodes || has(nodes, node); }
};

// A bitmap that is cleared by taking out what was put in, so that a query with few labels costs little however many
// labels there are.
class MarkSet {
 public:
  void reserve(int64_t n) {
    if (words_.empty()) words_.resize(static_cast<size_t>(n / 64 + 1), 0);
  }
  bool insert(int32_t id) {  // true if it was not in
    uint64_t bit = uint64_t{1} << (id & 63), &word = words_[id >> 6];
    if (word & bit) return false;
    word |= bit;
    inserted_.push_back(id);
    return true;
  }
  void clear() {
    for (int32_t id : inserted_) words_[id >> 6] = 0;
    inserted_.clear();
  }
  const uint64_t* words() const { return words_.data(); }

 private:
  std::vector<uint64_t> words_;
  std::vector<int32_t> inserted_;
};

// Marks the nodes on the paths to the given labels. `links` must have been required.
inline void mark_ancestors(const TreeLinks& links, const int32_t* labels, int64_t n, MarkSet& nodes) {
  for (int64_t i = 0; i < n; ++i)
    for (int32_t node = links.parent_of_label(labels[i]); node >= 0 && nodes.insert(node);)
      node = links.parent_of_node(node);
}

}  // namespace labeltrees
