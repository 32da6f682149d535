// The k best labels found so far, and perhaps more of those that were scored on the way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
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
  void start(int64_t k) { start(k, k); }
  // Keeps the `n_kept` best, at least k of them.
  void start(int64_t k, int64_t n_kept) {
    k_ = static_cast<size_t>(k);
    n_kept_ = static_cast<size_t>(n_kept);
    heap_.clear();
    first_.clear();
    limit_ = kept_limit_ = -std::numeric_limits<float>::infinity();
  }

  // A lower score cannot be among the k best any more. An equal one can, with a smaller label.
  float limit() const { return limit_; }
  // The same for the labels that are kept.
  float kept_limit() const { return kept_limit_; }

  void offer(float score, int32_t label) {
    ScoredLabel found{score, label};
    if (n_kept_ > k_) return offer_kept(found);
    if (heap_.size() < k_) {
      heap_.push_back(found);
      std::push_heap(heap_.begin(), heap_.end(), BetterLabel());
    } else if (BetterLabel()(found, heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), BetterLabel());
      heap_.back() = found;
      std::push_heap(heap_.begin(), heap_.end(), BetterLabel());
    }
    if (heap_.size() == k_) limit_ = kept_limit_ = heap_.front().score;
  }

  // Best first; nothing can be offered afterwards.
  const std::vector<ScoredLabel>& sorted() {
    if (n_kept_ > k_) {
      drop_kept();
      std::sort(heap_.begin(), heap_.end(), BetterLabel());
    } else {
      std::sort_heap(heap_.begin(), heap_.end(), BetterLabel());
    }
    return heap_;
  }

 private:
  // More than k are kept: in any order, and dropped rarely, because a heap of all of them took as long as the search.
  void offer_kept(const ScoredLabel& found) {
    heap_.push_back(found);
    if (heap_.size() == kRoom * n_kept_) drop_kept();
    if (first_.size() == k_) {
      if (found.score <= first_.front()) return;
      std::pop_heap(first_.begin(), first_.end(), std::greater<float>());
      first_.back() = found.score;
    } else {
      first_.push_back(found.score);
    }
    std::push_heap(first_.begin(), first_.end(), std::greater<float>());
    if (first_.size() == k_) limit_ = first_.front();
  }
  void drop_kept() {
    if (heap_.size() <= n_kept_) return;
    const auto last = heap_.begin() + static_cast<int64_t>(n_kept_) - 1;
    std::nth_element(heap_.begin(), last, heap_.end(), BetterLabel());
    kept_limit_ = last->score;
    heap_.resize(n_kept_);
  }

  static constexpr size_t kRoom = 4;
  size_t k_ = 0, n_kept_ = 0;
  float limit_ = 0, kept_limit_ = 0;
  std::vector<float> first_;       // where more than k are kept: the scores of the k best, the worst at the front
  std::vector<ScoredLabel> heap_;  // the worst at the front, unless more than k are kept
};

}  // namespace labeltrees
