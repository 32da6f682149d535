// Small reproducible random numbers: splitmix64, and a stream per task that does not depend on the thread it runs on.
#pragma once

#include <cstdint>
#include <utility>

namespace labeltrees {

// splitmix64's last step: spreads every bit of x over all bits.
inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The next number of splitmix64; state is in and out. Tree nodes are seeded from their path, not from when they run.
inline uint64_t next_random(uint64_t& state) { return mix_bits(state += 0x9e3779b97f4a7c15u); }

class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : state_(mix_bits(seed) ^ mix_bits(~stream)) {}

  uint64_t next() { return next_random(state_); }
  // Uniform in [0, n), n below 2^32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }

  template <class T>
  void shuffle(T* values, int64_t n) {
    for (int64_t i = n - 1; i > 0; --i) std::swap(values[i], values[below(static_cast<uint32_t>(i + 1))]);
  }

 private:
  uint64_t state_;
};

}  // namespace labeltrees
