#include "tree/select_half.hpp"

#include <algorithm>
#include <limits>

namespace labeltrees {

namespace {

constexpr int kBuckets = 512;
constexpr int64_t kFew = 64;

struct Range {
  double low, high;

  // Monotone: a larger key never gets a later bucket.
  double scale() const { return (kBuckets - 1) / (high - low); }
};

inline int bucket_of(double key, double high, double scale) { return static_cast<int>((high - key) * scale); }

// Finds the bucket where the weight cumulated from the top reaches half; adds what lies above it to `above`.
int crossing_bucket(const double* histogram, double half, double& above) {
  int last_filled = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    if (histogram[bucket] == 0) continue;
    if (above + histogram[bucket] >= half) return bucket;
    last_filled = bucket;
    above += histogram[bucket];
  }
  above -= histogram[last_filled];  // rounding: the very last row crosses
  return last_filled;
}

}  // namespace

// Buckets over the range of keys, then buckets within the bucket that crosses, until few candidates are left to sort.
// One streaming pass over the rows and a little more; std::nth_element over (key, row) pairs needs about three.
Half select_half(const double* keys, const LabelRow* rows, int64_t n, double total, Team& team,
                 SelectScratch& scratch) {
  const double half = total / 2;
  const int64_t blocks = n_blocks(n);
  const int64_t stride = 2 + kBuckets;
  scratch.partial.assign(blocks * stride, 0.0);
  scratch.bucket.resize(n);
  scratch.candidates.clear();

  team.run(blocks, [&](int64_t block) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int64_t i = block * kBlock, end = std::min(n, i + kBlock); i < end; ++i) {
      low = std::min(low, keys[i]);
      high = std::max(high, keys[i]);
    }
    scratch.partial[block * stride] = low;
    scratch.partial[block * stride + 1] = high;
  });
  Range range{scratch.partial[0], scratch.partial[1]};
  for (int64_t block = 1; block < blocks; ++block) {
    range.low = std::min(range.low, scratch.partial[block * stride]);
    range.high = std::max(range.high, scratch.partial[block * stride + 1]);
  }

  double above = 0;
  if (range.low < range.high && n > kFew) {
    const double high = range.high, scale = range.scale();
    team.run(blocks, [&](int64_t block) {
      double* histogram = &scratch.partial[block * stride + 2];
      for (int64_t i = block * kBlock, end = std::min(n, i + kBlock); i < end; ++i) {
        const int bucket = bucket_of(keys[i], high, scale);
        scratch.bucket[i] = static_cast<uint16_t>(bucket);
        histogram[bucket] += rows[i].weight;
      }
    });
    double* histogram = &scratch.partial[2];
    for (int64_t block = 1; block < blocks; ++block)
      for (int bucket = 0; bucket < kBuckets; ++bucket)
        histogram[bucket] += scratch.partial[block * stride + 2 + bucket];
    const int crossing = crossing_bucket(histogram, half, above);
    for (int64_t i = 0; i < n; ++i)
      if (scratch.bucket[i] == crossing) scratch.candidates.push_back(i);
  } else {
    scratch.candidates.resize(n);
    for (int64_t i = 0; i < n; ++i) scratch.candidates[i] = i;
  }

  auto& candidates = scratch.candidates;
  bool all_equal = false;
  while (static_cast<int64_t>(candidates.size()) > kFew) {
    range = {keys[candidates[0]], keys[candidates[0]]};
    for (int64_t i : candidates) {
      range.low = std::min(range.low, keys[i]);
      range.high = std::max(range.high, keys[i]);
    }
    all_equal = range.low == range.high;
    const double scale = all_equal ? 0 : range.scale();
    if (all_equal || !(scale <= std::numeric_limits<double>::max())) break;  // a range too narrow to divide: sort
    double histogram[kBuckets] = {};
    for (int64_t i : candidates) histogram[bucket_of(keys[i], range.high, scale)] += rows[i].weight;
    const int crossing = crossing_bucket(histogram, half, above);
    std::erase_if(candidates, [&](int64_t i) { return bucket_of(keys[i], range.high, scale) != crossing; });
  }
  if (!all_equal)
    std::sort(candidates.begin(), candidates.end(),
              [&](int64_t i, int64_t j) { return keys[i] != keys[j] ? keys[i] > keys[j] : i < j; });
  for (size_t c = 0;; ++c) {
    const double weight = rows[candidates[c]].weight;
    if (above + weight >= half || c + 1 == candidates.size()) {
      const double alpha = weight > 0 ? 2 * (half - above) / weight - 1 : -1;
      return {candidates[c], std::clamp(alpha, -1.0, 1.0)};
    }
    above += weight;
  }
}

}  // namespace labeltrees
