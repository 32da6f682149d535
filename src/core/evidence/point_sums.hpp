// The similarities of training points to a query, summed up feature by feature: a hash table, because only a few
// thousand of perhaps millions of points share a feature with the query, and a table of those stays in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace labeltrees {

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

class PointSums {
 public:
  // Prepares for at most `n` additions.
  void start(int64_t n) {
    if (static_cast<int64_t>(table_.size()) < 2 * n) {
      bits_ = 6;
      while ((int64_t{1} << bits_) < 2 * n) ++bits_;
      table_.assign(size_t{1} << bits_, {0.0f, kNone});
    } else {
      for (uint32_t slot : used_) table_[slot].point = kNone;
    }
    used_.clear();
  }

  void add(int32_t point, float value) {
    uint32_t slot = (static_cast<uint32_t>(point) * 0x9E3779B1u) >> (32 - bits_);
    const uint32_t mask = (uint32_t{1} << bits_) - 1;
    while (table_[slot].point != point) {
      if (table_[slot].point == kNone) {
        table_[slot] = {0.0f, point};
        used_.push_back(slot);
        break;
      }
      slot = (slot + 1) & mask;
    }
    table_[slot].similarity += value;
  }

  // out: the `n` most similar points of those above 0, in no particular order. Points are first counted by similarity
  // in coarse steps, so that only those in the step of the n-th point are compared.
  void best(size_t n, std::vector<SimilarPoint>& out) const {
    out.clear();
    float highest = 0.0f;
    for (uint32_t slot : used_) highest = std::max(highest, table_[slot].similarity);
    if (!(highest > 0.0f)) return;
    const float scale = (kSteps - 1) / highest;
    int32_t counts[kSteps] = {};
    for (uint32_t slot : used_)
      if (table_[slot].similarity > 0.0f) ++counts[step_of(table_[slot].similarity, scale)];
    int lowest = kSteps - 1;
    for (size_t above = 0; lowest > 0 && (above += static_cast<size_t>(counts[lowest])) < n; --lowest) {
    }
    for (uint32_t slot : used_)
      if (table_[slot].similarity > 0.0f && step_of(table_[slot].similarity, scale) >= lowest)
        out.push_back(table_[slot]);
    if (out.size() <= n) return;
    std::nth_element(out.begin(), out.begin() + static_cast<int64_t>(n), out.end(), MoreSimilar());
    out.resize(n);
  }

 private:
  static constexpr int32_t kNone = -1;
  static constexpr int kSteps = 128;
  static int step_of(float similarity, float scale) { return static_cast<int>(similarity * scale); }

  int bits_ = 6;
  std::vector<SimilarPoint> table_ = std::vector<SimilarPoint>(64, SimilarPoint{0.0f, kNone});
  std::vector<uint32_t> used_;  // slots, in the order of their first addition
};

}  // namespace labeltrees
