// Room in which chunks are evaluated, one after the other; one a thread, so that it stays in the nearest cache.
#pragma once

#include <cstdint>
#include <vector>

#include "chunk_format.hpp"
#include "simd/kernels.hpp"

namespace labeltrees {

class SearchRoom {
 public:
  alignas(64) float margins[kMostChildren], scores[kMostChildren];
  uint8_t labels[kMostChildren];

  // Lists of rows for queries of up to n features.
  void give(int64_t n, ChunkRowList (&lists)[4]) {
    for (int list = 0; list < 4; ++list) {
      if (static_cast<int64_t>(at_[list].size()) < n + 16) {
        at_[list].resize(n + 16);
        which_[list].resize(n + 16);
        value_[list].resize(n + 16);
      }
      lists[list] = {0, at_[list].data(), which_[list].data(), value_[list].data()};
    }
  }

 private:
  std::vector<int32_t> at_[4];
  std::vector<uint32_t> which_[4];
  std::vector<float> value_[4];
};

}  // namespace labeltrees
