// The k best labels found so far, and optionally more of the labels that were scored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace labeltrees::search {

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
    if (n_kept_ == k_) std::sort_heap(heap_.begin(), heap_.end(), BetterLabel());
    return heap_;
  }

 private:
  // Where more than k are kept, these are few, and sorted, best first: a heap took twice as long.
  void offer_kept(const ScoredLabel& found) {
    if (heap_.size() < n_kept_)
      heap_.push_back(found);
    else if (!BetterLabel()(found, heap_.back()))
      return;
    size_t at = heap_.size() - 1;
    for (; at > 0 && BetterLabel()(found, heap_[at - 1]); --at) heap_[at] = heap_[at - 1];
    heap_[at] = found;
    if (heap_.size() >= k_) limit_ = heap_[k_ - 1].score;
    if (heap_.size() == n_kept_) kept_limit_ = heap_.back().score;
  }

  size_t k_ = 0, n_kept_ = 0;
  float limit_ = 0, kept_limit_ = 0;
  std::vector<ScoredLabel> heap_;  // the worst at the front; best first where more than k are kept
};

}  // namespace labeltrees::search
