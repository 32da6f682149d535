// The weights of some children turned from one row a child to one row a feature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "chunk_pack.hpp"
#include "half.hpp"

namespace labeltrees {

// Kept per thread: `place_` has an entry a feature, all zero between calls.
class ChunkRows {
 public:
  explicit ChunkRows(int64_t n_features) : place_(static_cast<size_t>(n_features), 0) {}

  // Rows of edges [first_edge, first_edge + n_children): features() rising, each with its children rising. Weights
  // that are zero in half precision are left out.
  void group(const EdgeWeights& weights, int64_t first_edge, int n_children) {
    features_.clear();
    int64_t end = weights.indptr[first_edge + n_children];
    int32_t before = -1;
    for (int64_t edge = first_edge, at = weights.indptr[first_edge]; at < end; ++at) {
      while (at >= weights.indptr[edge + 1]) ++edge, before = -1;
      int32_t feature = weights.features[at];
      if (!std::isfinite(weights.values[at]) || feature <= before || feature >= static_cast<int64_t>(place_.size())) {
        for (uint32_t touched : features_) place_[touched] = 0;
        throw std::invalid_argument("features must rise within a classifier and its weights be finite");
      }
      before = feature;
      if ((to_half(weights.values[at]) & 0x7FFF) == 0) continue;
      if (place_[feature]++ == 0) features_.push_back(static_cast<uint32_t>(feature));
    }
    std::sort(features_.begin(), features_.end());
    starts_.resize(features_.size() + 1);
    int64_t total = 0;
    for (size_t row = 0; row < features_.size(); ++row) {
      starts_[row] = total;
      total += place_[features_[row]];
      place_[features_[row]] = static_cast<uint32_t>(row);
    }
    starts_[features_.size()] = total;
    children_.resize(static_cast<size_t>(total));
    halves_.resize(static_cast<size_t>(total));
    next_.assign(starts_.begin(), starts_.end());
    for (int child = 0; child < n_children; ++child) {
      for (int64_t at = weights.indptr[first_edge + child]; at < weights.indptr[first_edge + child + 1]; ++at) {
        uint16_t half = to_half(weights.values[at]);
        if ((half & 0x7FFF) == 0) continue;
        int64_t to = next_[place_[weights.features[at]]]++;
        children_[to] = static_cast<uint8_t>(child);
        halves_[to] = half;
      }
    }
    for (uint32_t feature : features_) place_[feature] = 0;
  }

  int64_t n_rows() const { return static_cast<int64_t>(features_.size()); }
  uint32_t feature(int64_t row) const { return features_[row]; }
  int count(int64_t row) const { return static_cast<int>(starts_[row + 1] - starts_[row]); }
  const uint8_t* children(int64_t row) const { return children_.data() + starts_[row]; }
  const uint16_t* halves(int64_t row) const { return halves_.data() + starts_[row]; }
  uint32_t mask(int64_t row) const {
    uint32_t bits = 0;
    for (int pair = 0; pair < count(row); ++pair) bits |= 1u << children(row)[pair];
    return bits;
  }

 private:
  std::vector<uint32_t> place_, features_;
  std::vector<int64_t> starts_, next_;
  std::vector<uint8_t> children_;
  std::vector<uint16_t> halves_;
};

}  // namespace labeltrees
