// What is known about a query without any feature: how frequent each label is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "search/best.hpp"
#include "search/filter.hpp"
#include "search/request.hpp"

namespace labeltrees {

class LabelPrior {
 public:
  // counts: the number of training points of each label, of n_points in all; kept by the caller.
  void set(const int64_t* counts, int64_t n_labels, double n_points) {
    counts_ = counts;
    n_labels_ = n_labels;
    n_points_ = n_points;
  }
  bool known() const { return counts_ != nullptr; }

  // Fills `best` (started by the caller) with the most frequent labels allowed; the scores are their shares times
  // weight_of(label). Labels that no training point has are left out.
  template <class WeightOf>
  void find(const SearchRequest& request, const LabelFilter& filter, WeightOf&& weight_of, BestLabels& best) const {
    if (!known()) return;
    std::call_once(once_, [&] { sort(); });
    int64_t n = 0;
    for (int32_t label : order_) {
      if (!filter.weights && n == request.k) return;
      const float score = std::min(static_cast<float>(counts_[label] / n_points_), 1.0f) * weight_of(label);
      if (!(score > 0.0f) || !filter.allows_label(label)) continue;
      best.offer(score, label);
      ++n;
    }
  }

 private:
  // The labels by falling count, when first needed: most models never see a query without features.
  void sort() const {
    for (int32_t label = 0; label < n_labels_; ++label)
      if (counts_[label] > 0) order_.push_back(label);
    std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return counts_[a] > counts_[b]; });
  }

  const int64_t* counts_ = nullptr;
  int64_t n_labels_ = 0;
  double n_points_ = 1;
  mutable std::once_flag once_;
  mutable std::vector<int32_t> order_;
};

}  // namespace labeltrees
