// The scores of the chunks that a query has evaluated in one tree, by node: an ensemble needs some of them again.
#pragma once

#include <cstdint>
#include <vector>

namespace labeltrees {

class ScoreMemo {
 public:
  void clear() {
    for (int32_t at : used_) table_[at] = {-1, 0};
    used_.clear();
    scores_.clear();
  }

  // The position of the node's scores in scores(), or -1.
  int64_t find(int32_t node) const {
    if (table_.empty()) return -1;
    for (size_t at = start(node);; at = (at + 1) & (table_.size() - 1)) {
      if (table_[at].node == node) return table_[at].first;
      if (table_[at].node < 0) return -1;
    }
  }
  // Scores appended from now on belong to this node.
  void begin(int32_t node) {
    if (2 * (used_.size() + 1) > table_.size()) grow();
    put(node, static_cast<int64_t>(scores_.size()));
  }
  void append(const float* scores, int n) { scores_.insert(scores_.end(), scores, scores + n); }
  const float* scores() const { return scores_.data(); }

 private:
  struct Entry {
    int32_t node;
    int64_t first;
  };
  size_t start(int32_t node) const { return (static_cast<uint32_t>(node) * 0x9E3779B1u) & (table_.size() - 1); }
  void put(int32_t node, int64_t first) {
    size_t at = start(node);
    while (table_[at].node >= 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = {node, first};
    used_.push_back(static_cast<int32_t>(at));
  }
  void grow() {
    std::vector<Entry> old;
    for (int32_t at : used_) old.push_back(table_[at]);
    used_.clear();
    table_.assign(table_.empty() ? 64 : 2 * table_.size(), {-1, 0});
    for (const Entry& entry : old) put(entry.node, entry.first);
  }

  std::vector<Entry> table_;  // open addressing; the size is a power of two
  std::vector<int32_t> used_;
  std::vector<float> scores_;
};

}  // namespace labeltrees
