// The similarities of training points to a query, summed up feature by feature.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace labeltrees {

// The upper half of a float.
inline float from_upper_half(uint16_t upper) { return std::bit_cast<float>(static_cast<uint32_t>(upper) << 16); }

struct SimilarPoint {
  float similarity;
  int32_t point;
};

// More similar first; equal: the smaller point first.
struct MoreSimilar {
  bool operator()(const SimilarPoint& a, const SimilarPoint& b) const {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.point < b.point;
  }
};

// One sum per training point. The points that got one are listed without a branch: which points a query meets cannot be
// predicted, and a hash table with its branches took several times as long.
class PointSums {
 public:
  // Prepares for at most `n_additions` of `n_points` points; all sums are 0.
  void start(int64_t n_points, int64_t n_additions) {
    if (static_cast<int64_t>(sums_.size()) < n_points) sums_.resize(static_cast<size_t>(n_points), 0.0f);
    if (static_cast<int64_t>(used_.size()) < n_additions + 1) used_.resize(static_cast<size_t>(n_additions + 1));
    n_used_ = 0;
  }

  // Adds scale * values to the sums of n points.
  void add(const int32_t* points, const uint16_t* values, int64_t n, float scale) {
    for (int64_t i = 0; i < n; ++i) {
      float& sum = sums_[points[i]];
      used_[n_used_] = points[i];
      n_used_ += sum == 0.0f;  // a sum that came back to 0 is listed twice, and dropped by take_best
      sum += scale * from_upper_half(values[i]);
    }
  }

  // out: the `n` most similar points of those above 0, in no particular order. All sums become 0 again. Points are
  // first counted by similarity in coarse steps, so that only those in the step of the n-th point are compared.
  void take_best(size_t n, std::vector<SimilarPoint>& out) {
    found_.resize(n_used_ + 1);
    size_t n_found = 0;
    float highest = 0.0f;
    for (size_t i = 0; i < n_used_; ++i) {
      float& sum = sums_[used_[i]];
      found_[n_found] = {sum, used_[i]};
      n_found += sum > 0.0f;
      highest = std::max(highest, sum);
      sum = 0.0f;
    }
    const float scale = n_found ? (kSteps - 1) / highest : 0.0f;
    int32_t counts[kSteps] = {};
    for (size_t i = 0; i < n_found; ++i) ++counts[step_of(found_[i], scale)];
    int lowest = kSteps - 1;
    for (size_t above = 0; lowest > 0 && (above += static_cast<size_t>(counts[lowest])) < n; --lowest) {
    }
    out.resize(n_found + 1);
    size_t n_out = 0;
    for (size_t i = 0; i < n_found; ++i) {
      out[n_out] = found_[i];
      n_out += step_of(found_[i], scale) >= lowest;
    }
    if (n_out > n)
      std::nth_element(out.begin(), out.begin() + static_cast<int64_t>(n), out.begin() + static_cast<int64_t>(n_out),
                       MoreSimilar());
    out.resize(std::min(n, n_out));
  }

 private:
  static constexpr int kSteps = 128;
  static int step_of(const SimilarPoint& point, float scale) { return static_cast<int>(point.similarity * scale); }

  std::vector<float> sums_;
  std::vector<int32_t> used_;
  size_t n_used_ = 0;
  std::vector<SimilarPoint> found_;
};

}  // namespace labeltrees
