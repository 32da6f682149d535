// The k best labels found so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace labeltrees {

struct ScoredLabel {
  float score;  // a sum of logs
  int32_t label;
};

// Higher score first; equal scores: smaller label first. A type instead of a function, so that the heap inlines it.
struct BetterLabel {
  bool operator()(const ScoredLabel& a, const ScoredLabel& b) const {
    return a.score != b.score ? a.score > b.score : a.label < b.label;
  }
};

class BestLabels {
 public:
  void start(int64_t k) {
    k_ = static_cast<size_t>(k);
    heap_.clear();
    limit_ = -std::numeric_limits<float>::infinity();
  }

  // A lower score cannot enter the list any more. An equal one can, with a smaller label.
  float limit() const { return limit_; }

  void offer(float score, int32_t label) {
    ScoredLabel found{score, label};
    if (heap_.size() < k_) {
      heap_.push_back(found);
      std::push_heap(heap_.begin(), heap_.end(), BetterLabel());
    } else if (BetterLabel()(found, heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), BetterLabel());
      heap_.back() = found;
      std::push_heap(heap_.begin(), heap_.end(), BetterLabel());
    }
    if (heap_.size() == k_) limit_ = heap_.front().score;
  }

  // Best first; nothing can be offered afterwards.
  const std::vector<ScoredLabel>& sorted() {
    std::sort_heap(heap_.begin(), heap_.end(), BetterLabel());
    return heap_;
  }

 private:
  size_t k_ = 0;
  float limit_ = 0;
  std::vector<ScoredLabel> heap_;  // the worst at the front
};

}  // namespace labeltrees
