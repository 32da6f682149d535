// What the tests of the kernels share: random inputs, and comparisons that count and print differences.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "simd/kernels.hpp"

namespace labeltrees::native_tests {

// Memory for vector types of 64 bytes.
template <class T>
class Aligned {
 public:
  explicit Aligned(int64_t n) : memory_(static_cast<size_t>(n) * sizeof(T) + 64), n_(n) {}
  Aligned(const Aligned& other) : Aligned(other.n_) {
    for (int64_t i = 0; i < n_; ++i) data()[i] = other.data()[i];
  }
  T* data() const {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return reinterpret_cast<T*>((address + 63) & ~uintptr_t{63});
  }
  T& operator[](int64_t i) const { return data()[i]; }
  int64_t size() const { return n_; }

 private:
  std::vector<uint8_t> memory_;
  int64_t n_;
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  float value() { return static_cast<float>(static_cast<double>(engine_()) / 2147483648.0 - 1.0); }  // in [-1, 1)
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_()) % n; }
  Aligned<float> values(int64_t n) {
    Aligned<float> all(n);
    for (int64_t i = 0; i < n; ++i) all[i] = value();
    return all;
  }

 private:
  std::mt19937 engine_;  // the standard defines its numbers
};

// The results of one table of kernels.
class Report {
 public:
  explicit Report(const char* table) : table_(table) {}
  void near(const std::string& what, double got, double expected, double tolerance = 1e-4) {
    ++n_compared_;
    if (got == expected || std::fabs(got - expected) <= tolerance * (1.0 + std::fabs(expected))) return;
    if (++n_wrong_ <= 20) std::printf("%s: %s is %g, expected %g\n", table_, what.c_str(), got, expected);
  }
  template <class T>
  void near(const std::string& what, const T* got, const T* expected, int64_t n, double tolerance = 1e-4) {
    for (int64_t i = 0; i < n; ++i)
      near(what + "[" + std::to_string(i) + "]", static_cast<double>(got[i]), static_cast<double>(expected[i]),
           tolerance);
  }
  // Returns whether nothing differed.
  bool print() const {
    std::printf("%s: %lld values compared, %lld differ\n", table_, static_cast<long long>(n_compared_),
                static_cast<long long>(n_wrong_));
    return n_wrong_ == 0 && n_compared_ > 0;
  }

 private:
  const char* table_;
  int64_t n_compared_ = 0, n_wrong_ = 0;
};

// Each compares `table` with the definition, or with the baseline.
void test_sums(const simd::Kernels& table, Report& report);
void test_bitmaps(const simd::Kernels& table, Report& report);
void test_chunks(const simd::Kernels& table, Report& report);
void test_selection(const simd::Kernels& table, Report& report);
void test_training(const simd::Kernels& table, const simd::Kernels& baseline, Report& report);
void test_texts(const simd::Kernels& table, Report& report);

}  // namespace labeltrees::native_tests
