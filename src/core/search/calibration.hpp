// Maps scores to probabilities by a non-decreasing, piecewise linear function, as numpy.interp does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace labeltrees::search {

class Calibration {
 public:
  // Both have the same length, at least 1, and are finite, non-decreasing and at least 0.
  Calibration(std::vector<double> scores, std::vector<double> probabilities)
      : scores_(std::move(scores)), probabilities_(std::move(probabilities)) {}

  float operator()(float score) const {
    const double x = score;
    if (!(x > scores_.front())) return static_cast<float>(probabilities_.front());
    if (x >= scores_.back()) return static_cast<float>(probabilities_.back());
    const size_t end = std::upper_bound(scores_.begin(), scores_.end(), x) - scores_.begin();
    const size_t at = end - 1;  // scores_[at] <= x < scores_[end]
    const double slope = (probabilities_[end] - probabilities_[at]) / (scores_[end] - scores_[at]);
    return static_cast<float>(slope * (x - scores_[at]) + probabilities_[at]);
  }

  // In place.
  void apply(float* scores, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) scores[i] = (*this)(scores[i]);
  }

  // The smallest score whose probability is at least this; the largest float if there is none.
  float lowest_score(float probability) const {
    float low = 0.0f, high = std::numeric_limits<float>::max();
    if ((*this)(low) >= probability) return low;
    if (!((*this)(high) >= probability)) return high;
    while (true) {  // (*this)(low) < probability <= (*this)(high)
      const float middle = low + (high - low) / 2;
      if (middle == low || middle == high) return high;
      ((*this)(middle) >= probability ? high : low) = middle;
    }
  }

 private:
  std::vector<double> scores_, probabilities_;
};

}  // namespace labeltrees::search
