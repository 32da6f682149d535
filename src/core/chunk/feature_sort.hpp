// Sorting the feature numbers of a row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace labeltrees {

// Rising, for numbers in [0, limit). Byte by byte from the lowest: std::sort took most of the time of rows with
// hundreds of features, such as character n-grams. Short rows are left to it.
inline void sort_features(std::vector<int32_t>& values, std::vector<int32_t>& spare, int64_t limit) {
  size_t n = values.size();
  if (n < 48) {
    std::sort(values.begin(), values.end());
    return;
  }
  spare.resize(n);
  int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(limit, 2) - 1));
  for (int shift = 0; shift < bits; shift += 8) {
    uint32_t places[257] = {};
    for (int32_t value : values) ++places[(static_cast<uint32_t>(value) >> shift & 255) + 1];
    for (int digit = 0; digit < 256; ++digit) places[digit + 1] += places[digit];
    for (int32_t value : values) spare[places[static_cast<uint32_t>(value) >> shift & 255]++] = value;
    values.swap(spare);
  }
}

}  // namespace labeltrees
