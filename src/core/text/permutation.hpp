// A random permutation of [0, n) that is computed entry by entry and needs no memory.
#pragma once

#include <bit>
#include <cstdint>

#include "common/random.hpp"

namespace labeltrees {

// Mixes the numbers below the next power of two with steps that can all be undone (xor with a key, multiplication by an
// odd number, xor with a right shift), and repeats until the result is below n. That takes fewer than two attempts on
// average. Threads that share a seed can each compute their part of the order.
class Permutation {
 public:
  Permutation(int64_t n, uint64_t seed, uint64_t stream) : n_(static_cast<uint64_t>(n)) {
    const int n_bits = n > 1 ? std::bit_width(n_ - 1) : 1;
    mask_ = ~uint64_t{0} >> (64 - n_bits);
    shift_ = (n_bits + 1) / 2;
    Random random(seed, stream);
    for (Round& round : rounds_) round = {random.next() & mask_, random.next() | 1};
  }

  // IN: i in [0, n).
  int64_t operator()(int64_t i) const {
    auto x = static_cast<uint64_t>(i);
    do {
      for (const Round& round : rounds_) {
        x = ((x ^ round.key) * round.factor) & mask_;
        x ^= x >> shift_;
      }
    } while (x >= n_);
    return static_cast<int64_t>(x);
  }

 private:
  struct Round {
    uint64_t key, factor;
  };
  Round rounds_[6];  // with 4, neighbours follow each other 10 % too often
  uint64_t n_, mask_;
  int shift_;
};

}  // namespace labeltrees
