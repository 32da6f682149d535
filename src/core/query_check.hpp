// Whether rows of queries are what the search trusts, in one pass on all threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "threads.hpp"

namespace labeltrees {

// Features in [0, n_features) and finite values.
inline bool are_sound(const int32_t* features, const float* values, int64_t n, int64_t n_features, int n_threads) {
  constexpr int64_t kBlock = 1 << 16;
  std::atomic<bool> sound{true};
  parallel_for((n + kBlock - 1) / kBlock, n_threads, [&](int64_t block, int) {
    int64_t end = std::min(n, (block + 1) * kBlock);
    uint32_t highest = 0;
    float sum = 0.0f;  // of zero times each value: NaN if one of them is not finite
    for (int64_t i = block * kBlock; i < end; ++i) {
      highest = std::max(highest, static_cast<uint32_t>(features[i]));
      sum += values[i] * 0.0f;
    }
    if (highest >= n_features || !(sum == 0.0f)) sound.store(false, std::memory_order_relaxed);
  });
  return sound;
}

}  // namespace labeltrees
