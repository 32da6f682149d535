// The open nodes of a search.
//
// A chunk's children are kept together as they were scored, and only the best of each chunk that is not opened yet
// stands in the heap. Most children are never opened: entering each of them in the heap took a quarter of the search.
//
// With hopes (search_tree.hpp) a chunk has two numbers for each child, its hope, which decides, and behind all hopes
// its score, which is what take() returns.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "simd/kernels.hpp"

namespace labeltrees {

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
  static constexpr float kNone = -std::numeric_limits<float>::infinity();  // no score is that low: see path_scores

  void start(const Kernels& kernels, bool hopes) {
    kernels_ = &kernels;
    hopes_ = hopes;
    heap_.clear();
    groups_.clear();
    scores_.clear();
  }

  bool empty() const { return heap_.empty(); }
  const OpenNode& best() const { return heap_[0].node; }  // with its hope in place of its score

  // Room for the scores (with hopes: hopes, then scores) of a chunk's n children (a multiple of 16), to be filled
  // before add().
  float* room(int64_t n) {
    scores_.resize(scores_.size() + static_cast<size_t>(width(n)));
    return scores_.data() + scores_.size() - width(n);
  }
  // The last room has been filled: kNone for children that are not to be opened. Those below `limit` never will be.
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
  // Takes the best node out; the next of its group comes in, unless it is below `limit`.
  OpenNode take(float limit) {
    OpenNode best = heap_[0].node;
    Group& group = groups_[heap_[0].group];
    scores_[group.first + group.place] = kNone;
    if (hopes_) best.score = scores_[group.first + group.n + group.place];
    if (!next_of(group, limit, heap_[0].node)) {
      heap_[0] = heap_.back();
      heap_.pop_back();
    }
    sink();
    return best;
  }
  // Takes the best node out, and its group with it.
  void drop() {
    heap_[0] = heap_.back();
    heap_.pop_back();
    sink();
  }

 private:
  int64_t width(int64_t n) const { return hopes_ ? 2 * n : n; }

  struct Group {
    const int32_t* children;
    int64_t first;  // in scores_
    int32_t n, depth;
    int32_t place;  // of the child that stands in the heap
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

  const Kernels* kernels_ = nullptr;
  bool hopes_ = false;
  std::vector<Entry> heap_;
  std::vector<Group> groups_;
  std::vector<float> scores_;
};

}  // namespace labeltrees
