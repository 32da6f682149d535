// Small reproducible random numbers: a stream per node, whatever thread works on it.
#pragma once

#include <cstdint>
#include <utility>

namespace labeltrees {

class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : state_(mix(seed) ^ mix(~stream)) {}

  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  // Uniform in [0, n), n below 2^32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }

  template <class T>
  void shuffle(T* values, int64_t n) {
    for (int64_t i = n - 1; i > 0; --i) std::swap(values[i], values[below(static_cast<uint32_t>(i + 1))]);
  }

 private:
  static uint64_t mix(uint64_t x) {  // splitmix64's finaliser
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  uint64_t state_;
};

}  // namespace labeltrees
