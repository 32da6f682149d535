// Transposes the weights of some children: from one row per child to one row per feature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "chunk/pack.hpp"
#include "common/half.hpp"

namespace labeltrees {

// One per thread: `place_` has an entry per feature, all zero between calls.
class ChunkRows {
 public:
  ChunkRows(int64_t n_features, const int32_t* feature_rank)
      : place_(static_cast<size_t>(n_features), 0), feature_rank_(feature_rank) {}

  // Rows of edges [first_edge, first_edge + n_children), sorted by the rank of their feature, each with its children
  // sorted. Weights that are zero in half precision are left out.
  void group(const EdgeWeights& weights, int64_t first_edge, int n_children) {
    ranks_.clear();
    for (int64_t at = weights.indptr[first_edge]; at < weights.indptr[first_edge + n_children]; ++at) {
      if (!std::isfinite(weights.values[at])) throw std::invalid_argument("weights must be finite");
      if ((to_half(weights.values[at]) & 0x7FFF) == 0) continue;
      int32_t rank = feature_rank_[weights.features[at]];
      if (place_[rank]++ == 0) ranks_.push_back(static_cast<uint32_t>(rank));
    }
    std::sort(ranks_.begin(), ranks_.end());
    starts_.resize(ranks_.size() + 1);
    int64_t total = 0;
    for (size_t row = 0; row < ranks_.size(); ++row) {
      starts_[row] = total;
      total += place_[ranks_[row]];
      place_[ranks_[row]] = static_cast<uint32_t>(row);
    }
    starts_[ranks_.size()] = total;
    children_.resize(static_cast<size_t>(total));
    halves_.resize(static_cast<size_t>(total));
    next_.assign(starts_.begin(), starts_.end());
    for (int child = 0; child < n_children; ++child) {
      for (int64_t at = weights.indptr[first_edge + child]; at < weights.indptr[first_edge + child + 1]; ++at) {
        uint16_t half = to_half(weights.values[at]);
        if ((half & 0x7FFF) == 0) continue;
        uint32_t row = place_[feature_rank_[weights.features[at]]];
        int64_t to = next_[row]++;
        if (to > starts_[row] && children_[to - 1] == child)
          throw std::invalid_argument("a classifier has the same feature twice");
        children_[to] = static_cast<uint8_t>(child);
        halves_[to] = half;
      }
    }
    for (uint32_t rank : ranks_) place_[rank] = 0;
  }

  int64_t n_rows() const { return static_cast<int64_t>(ranks_.size()); }
  uint32_t rank(int64_t row) const { return ranks_[row]; }
  int count(int64_t row) const { return static_cast<int>(starts_[row + 1] - starts_[row]); }
  const uint8_t* children(int64_t row) const { return children_.data() + starts_[row]; }
  const uint16_t* halves(int64_t row) const { return halves_.data() + starts_[row]; }
  uint32_t mask(int64_t row) const {
    uint32_t bits = 0;
    for (int pair = 0; pair < count(row); ++pair) bits |= 1u << children(row)[pair];
    return bits;
  }

 private:
  std::vector<uint32_t> place_, ranks_;
  const int32_t* feature_rank_;
  std::vector<int64_t> starts_, next_;
  std::vector<uint8_t> children_;
  std::vector<uint16_t> halves_;
};

}  // namespace labeltrees
