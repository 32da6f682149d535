#include "tree/select_half.hpp"

#include <algorithm>
#include <limits>

namespace labeltrees::tree {

namespace {

constexpr int kBuckets = 512;
constexpr int64_t kFew = 64;
constexpr int64_t kStride = 2 + kBuckets;  // of scratch.partial, per block of rows

struct Range {
  double low, high;
  double scale() const { return (kBuckets - 1) / (high - low); }
};

// Monotone: a larger key never gets a later bucket.
inline int bucket_of(double key, double high, double scale) { return static_cast<int>((high - key) * scale); }

// Finds the bucket where the weight cumulated from the top reaches half, and adds the weight of the buckets before it
// to `above`.
int crossing_bucket(const double* histogram, double half, double& above) {
  int last_filled = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    if (histogram[bucket] == 0) continue;
    if (above + histogram[bucket] >= half) return bucket;
    last_filled = bucket;
    above += histogram[bucket];
  }
  above -= histogram[last_filled];  // by rounding, only the very last row crosses
  return last_filled;
}

Range range_of_keys(const double* keys, int64_t n, Team& team, SelectScratch& scratch) {
  const int64_t blocks = labels::n_blocks(n);
  team.run(blocks, [&](int64_t block) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int64_t i = block * labels::kBlock, end = std::min(n, i + labels::kBlock); i < end; ++i) {
      low = std::min(low, keys[i]);
      high = std::max(high, keys[i]);
    }
    scratch.partial[block * kStride] = low;
    scratch.partial[block * kStride + 1] = high;
  });
  Range range{scratch.partial[0], scratch.partial[1]};
  for (int64_t block = 1; block < blocks; ++block) {
    range.low = std::min(range.low, scratch.partial[block * kStride]);
    range.high = std::max(range.high, scratch.partial[block * kStride + 1]);
  }
  return range;
}

// Sets scratch.candidates to the rows of the bucket that crosses; `above` gets the weight of the rows before it.
void find_candidates(const double* keys, const labels::LabelRow* rows, int64_t n, const Range& range, double half,
                     Team& team, SelectScratch& scratch, double& above) {
  const int64_t blocks = labels::n_blocks(n);
  const double high = range.high, scale = range.scale();
  team.run(blocks, [&](int64_t block) {
    double* histogram = &scratch.partial[block * kStride + 2];
    for (int64_t i = block * labels::kBlock, end = std::min(n, i + labels::kBlock); i < end; ++i) {
      const int bucket = bucket_of(keys[i], high, scale);
      scratch.bucket[i] = static_cast<uint16_t>(bucket);
      histogram[bucket] += rows[i].weight;
    }
  });
  double* histogram = &scratch.partial[2];
  for (int64_t block = 1; block < blocks; ++block)
    for (int bucket = 0; bucket < kBuckets; ++bucket)
      histogram[bucket] += scratch.partial[block * kStride + 2 + bucket];
  const int crossing = crossing_bucket(histogram, half, above);
  for (int64_t i = 0; i < n; ++i)
    if (scratch.bucket[i] == crossing) scratch.candidates.push_back(i);
}

// Divides the candidates into buckets again until few are left, and orders those.
void narrow_candidates(const double* keys, const labels::LabelRow* rows, double half, std::vector<int64_t>& candidates,
                       double& above) {
  while (static_cast<int64_t>(candidates.size()) > kFew) {
    Range range{keys[candidates[0]], keys[candidates[0]]};
    for (int64_t i : candidates) {
      range.low = std::min(range.low, keys[i]);
      range.high = std::max(range.high, keys[i]);
    }
    if (range.low == range.high) return;  // all equal: already in the order of rows
    const double scale = range.scale();
    if (!(scale <= std::numeric_limits<double>::max())) break;  // too narrow to divide
    double histogram[kBuckets] = {};
    for (int64_t i : candidates) histogram[bucket_of(keys[i], range.high, scale)] += rows[i].weight;
    const int crossing = crossing_bucket(histogram, half, above);
    std::erase_if(candidates, [&](int64_t i) { return bucket_of(keys[i], range.high, scale) != crossing; });
  }
  std::sort(candidates.begin(), candidates.end(),
            [&](int64_t i, int64_t j) { return keys[i] != keys[j] ? keys[i] > keys[j] : i < j; });
}

}  // namespace

// Buckets over the range of keys, then buckets within the bucket that crosses, until few candidates are left to sort.
// This is little more than one pass over the rows; std::nth_element over (key, row) pairs needs about three.
Half select_half(const double* keys, const labels::LabelRow* rows, int64_t n, double total, Team& team,
                 SelectScratch& scratch) {
  const double half = total / 2;
  scratch.partial.assign(labels::n_blocks(n) * kStride, 0.0);
  scratch.bucket.resize(n);
  auto& candidates = scratch.candidates;
  candidates.clear();
  double above = 0;
  const Range range = range_of_keys(keys, n, team, scratch);
  if (range.low < range.high && n > kFew) {
    find_candidates(keys, rows, n, range, half, team, scratch, above);
  } else {
    candidates.resize(n);
    for (int64_t i = 0; i < n; ++i) candidates[i] = i;
  }
  narrow_candidates(keys, rows, half, candidates, above);
  for (size_t c = 0;; ++c) {
    const double weight = rows[candidates[c]].weight;
    if (above + weight >= half || c + 1 == candidates.size()) {
      const double alpha = weight > 0 ? 2 * (half - above) / weight - 1 : -1;
      return {candidates[c], std::clamp(alpha, -1.0, 1.0)};
    }
    above += weight;
  }
}

}  // namespace labeltrees::tree
