// The k best labels found so far, and optionally more of the labels that were scored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace labeltrees::search {

template <class Score>
struct Scored {
  Score score;
  int32_t label;
};
using ScoredLabel = Scored<float>;  // the score is often a sum of logs

// Higher score first; equal scores: smaller label first. A type instead of a function, so that the heap inlines it.
struct BetterLabel {
  template <class Score>
  bool operator()(const Scored<Score>& a, const Scored<Score>& b) const {
    return a.score != b.score ? a.score > b.score : a.label < b.label;
  }
};

// The maximum number of labels per group. A label belongs to one group or to none (-1).
struct GroupLimits {
  std::vector<int32_t> group_of;  // by label
  std::vector<int32_t> most;      // by group

  // Widened by a factor, for lists from which a shorter one is chosen.
  int64_t most_of(int32_t group, int64_t factor) const { return factor * most[group]; }
};

// The best of the labels offered. With limits, the list is what a pass over all labels, best first, would collect if it
// skipped labels of full groups. So a better label of a full group replaces the group's worst.
template <class Score>
class BestOf {
 public:
  void start(int64_t k) { start(k, k); }
  // Keeps the `n_kept` best, at least k of them. Labels below `floor` are left out.
  void start(int64_t k, int64_t n_kept, const GroupLimits* limits = nullptr, int64_t factor = 1,
             Score floor = -std::numeric_limits<Score>::infinity()) {
    k_ = static_cast<size_t>(k);
    n_kept_ = static_cast<size_t>(n_kept);
    limits_ = limits;
    factor_ = factor;
    heap_.clear();
    limit_ = kept_limit_ = floor;
  }

  // A lower score cannot be among the k best any more. An equal one can, with a smaller label.
  Score limit() const { return limit_; }
  // The same for the labels that are kept.
  Score kept_limit() const { return kept_limit_; }

  void offer(Score score, int32_t label) {
    if (score < kept_limit_) return;
    Scored<Score> found{score, label};
    if (limits_ && !make_room(found)) return;
    if (!is_heap()) return offer_kept(found);
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
  const std::vector<Scored<Score>>& sorted() {
    if (is_heap()) std::sort_heap(heap_.begin(), heap_.end(), BetterLabel());
    return heap_;
  }

 private:
  bool is_heap() const { return n_kept_ == k_ && !limits_; }

  // With limits, or if more than k labels are kept, the list is sorted, best first. It is short: a heap took twice as
  // long.
  void offer_kept(const Scored<Score>& found) {
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

  // False if the label's group is full of better labels; removes the group's worst if it is full.
  bool make_room(const Scored<Score>& found) {
    const int32_t group = limits_->group_of[found.label];
    if (group < 0) return true;
    const int64_t most = limits_->most_of(group, factor_);
    int64_t n = 0;
    size_t worst = 0;
    for (size_t i = 0; i < heap_.size(); ++i) {
      if (limits_->group_of[heap_[i].label] != group) continue;
      ++n;
      worst = i;
    }
    if (n < most) return true;
    if (n == 0 || !BetterLabel()(found, heap_[worst])) return false;
    heap_.erase(heap_.begin() + static_cast<int64_t>(worst));
    return true;
  }

  size_t k_ = 0, n_kept_ = 0;
  const GroupLimits* limits_ = nullptr;
  int64_t factor_ = 1;
  Score limit_ = 0, kept_limit_ = 0;
  std::vector<Scored<Score>> heap_;  // if is_heap(), the worst at the front; otherwise sorted, best first
};

using BestLabels = BestOf<float>;

}  // namespace labeltrees::search
