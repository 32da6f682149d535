// Whether rows of queries are what the search trusts, in one pass on all threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "common/threads.hpp"

namespace labeltrees {

struct RowsCheck {
  bool sound;   // features in [0, n_features), finite values
  bool rising;  // the features of a row rise, none stands twice
};

// indptr: rising, within the arrays.
inline RowsCheck check_rows(const int64_t* indptr, const int32_t* features, const float* values, int64_t n_rows,
                            int64_t n_features, int n_threads) {
  constexpr int64_t kBlock = 256;
  std::atomic<bool> sound{true}, rising{true};
  parallel_for((n_rows + kBlock - 1) / kBlock, n_threads, [&](int64_t block, int) {
    uint32_t highest = 0, falls = 0;
    float sum = 0.0f;  // of zero times each value: NaN if one of them is not finite
    for (int64_t row = block * kBlock; row < std::min(n_rows, (block + 1) * kBlock); ++row) {
      int64_t begin = indptr[row], end = indptr[row + 1];
      for (int64_t i = begin; i < end; ++i) {
        highest = std::max(highest, static_cast<uint32_t>(features[i]));
        sum += values[i] * 0.0f;
      }
      for (int64_t i = begin + 1; i < end; ++i) falls |= features[i] <= features[i - 1];
    }
    if (highest >= n_features || !(sum == 0.0f)) sound.store(false, std::memory_order_relaxed);
    if (falls) rising.store(false, std::memory_order_relaxed);
  });
  return {sound, rising};
}

}  // namespace labeltrees
