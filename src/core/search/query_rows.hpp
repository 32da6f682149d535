// The queries of a batch, and whether they are what the search relies on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "common/threads.hpp"

namespace labeltrees {

// CSR rows, or, with indptr null, dense rows of n_features values.
struct QueryRows {
  int64_t n;
  const int64_t* indptr;
  const int32_t* features;
  const float* values;
};

struct RowsCheck {
  bool sound;   // all features are in [0, n_features) and all values finite
  bool rising;  // the features of each row rise, so that none appears twice
};

// Checks CSR rows whose indptr is known to be sound.
inline RowsCheck check_rows(const QueryRows& rows, int64_t n_features, int n_threads) {
  constexpr int64_t kBlock = 256;
  std::atomic<bool> sound{true}, rising{true};
  parallel_for((rows.n + kBlock - 1) / kBlock, n_threads, [&](int64_t block, int) {
    uint32_t highest = 0, falls = 0;
    float sum = 0.0f;  // of zero times each value: NaN if a value is not finite
    for (int64_t row = block * kBlock; row < std::min(rows.n, (block + 1) * kBlock); ++row) {
      int64_t begin = rows.indptr[row], end = rows.indptr[row + 1];
      for (int64_t i = begin; i < end; ++i) {
        highest = std::max(highest, static_cast<uint32_t>(rows.features[i]));
        sum += rows.values[i] * 0.0f;
      }
      for (int64_t i = begin + 1; i < end; ++i) falls |= rows.features[i] <= rows.features[i - 1];
    }
    if (highest >= n_features || !(sum == 0.0f)) sound.store(false, std::memory_order_relaxed);
    if (falls) rising.store(false, std::memory_order_relaxed);
  });
  return {sound, rising};
}

}  // namespace labeltrees
