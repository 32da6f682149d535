// The open nodes of a search.
//
// The children of a chunk are kept together as they were scored, and only the best unopened child of each chunk
// is in the heap. Most children are never opened: pushing each of them took a quarter of the search time.
//
// With discounts (tree_search.hpp) a chunk has two numbers per child: first all priorities, which decide, then all
// scores, which take() returns.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "simd/kernels.hpp"

namespace labeltrees::search {

struct OpenNode {
  float score;
  int32_t depth;
  int32_t node;
};

// Falling score, then rising depth, then rising number.
inline bool sooner(const OpenNode& a, const OpenNode& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.depth != b.depth ? a.depth < b.depth : a.node < b.node;
}

class Frontier {
 public:
  static constexpr float kNone = -std::numeric_limits<float>::infinity();  // below every score: see path_scores

  void start(const simd::Kernels& kernels, bool discounted) {
    kernels_ = &kernels;
    discounted_ = discounted;
    heap_.clear();
    groups_.clear();
    scores_.clear();
  }

  bool empty() const { return heap_.empty(); }
  const OpenNode& best() const { return heap_[0].node; }  // with discounts: its score is its priority

  // Memory for the scores (with discounts: priorities, then scores) of a chunk's n children (a multiple of 16), to be
  // filled before add().
  float* allocate(int64_t n) {
    scores_.resize(scores_.size() + static_cast<size_t>(width(n)));
    return scores_.data() + scores_.size() - width(n);
  }
  // Adds the children whose scores fill the memory allocated last: kNone for those that must not be opened. Children
  // below `limit` are never opened.
  void add(const int32_t* children, int64_t n, int32_t depth, float limit) {
    Group group{children, static_cast<int64_t>(scores_.size()) - width(n), static_cast<int32_t>(n), depth, 0};
    OpenNode best;
    if (!next_of(group, limit, best)) {
      scores_.resize(scores_.size() - static_cast<size_t>(width(n)));
      return;
    }
    groups_.push_back(group);
    heap_.push_back({best, static_cast<int32_t>(groups_.size()) - 1});
    for (size_t at = heap_.size() - 1; at > 0 && sooner(heap_[at].node, heap_[(at - 1) / 2].node); at = (at - 1) / 2)
      std::swap(heap_[at], heap_[(at - 1) / 2]);
  }
  // Removes and returns the best node; the next of its group replaces it, unless that is below `limit`.
  OpenNode take(float limit) {
    OpenNode best = heap_[0].node;
    Group& group = groups_[heap_[0].group];
    scores_[group.first + group.place] = kNone;
    if (discounted_) best.score = scores_[group.first + group.n + group.place];
    if (!next_of(group, limit, heap_[0].node)) {
      heap_[0] = heap_.back();
      heap_.pop_back();
    }
    sink();
    return best;
  }
  // Removes the best node together with its group.
  void drop() {
    heap_[0] = heap_.back();
    heap_.pop_back();
    sink();
  }

 private:
  int64_t width(int64_t n) const { return discounted_ ? 2 * n : n; }

  struct Group {
    const int32_t* children;
    int64_t first;  // in scores_
    int32_t n, depth;
    int32_t place;  // of the child that is in the heap
  };
  struct Entry {
    OpenNode node;
    int32_t group;
  };

  bool next_of(Group& group, float limit, OpenNode& node) {
    const float* scores = scores_.data() + group.first;
    group.place = kernels_->find_best(scores, group.children, group.n);
    node = {scores[group.place], group.depth, group.children[group.place]};
    return node.score > kNone && node.score >= limit;
  }
  void sink() {
    for (size_t at = 0, child; (child = 2 * at + 1) < heap_.size(); at = child) {
      if (child + 1 < heap_.size() && sooner(heap_[child + 1].node, heap_[child].node)) ++child;
      if (!sooner(heap_[child].node, heap_[at].node)) return;
      std::swap(heap_[at], heap_[child]);
    }
  }

  const simd::Kernels* kernels_ = nullptr;
  bool discounted_ = false;
  std::vector<Entry> heap_;
  std::vector<Group> groups_;
  std::vector<float> scores_;
};

// The scores of the chunks that a query has evaluated in one tree, by node: an ensemble needs some of them again.
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

}  // namespace labeltrees::search
