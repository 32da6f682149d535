// Working memory aligned to a cache line that is reused from one task to the next.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace labeltrees {

// Not a growing array (see GrowingArray): resizing loses the content, and a block that has become far too large is
// freed.
template <class T>
class AlignedScratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedScratch() = default;
  explicit AlignedScratch(int64_t n) { resize(n); }
  ~AlignedScratch() { std::free(data_); }
  AlignedScratch(const AlignedScratch&) = delete;
  AlignedScratch& operator=(const AlignedScratch&) = delete;

  // Makes space for n elements, uninitialised. A large block of which less than a quarter is used (it was made for the
  // root of a tree) is exchanged for a smaller one.
  void resize(int64_t n) {
    if (n > capacity_ || (n < capacity_ / 4 && capacity_ > kAlwaysKept)) {
      std::free(data_);
      data_ = nullptr;
      capacity_ = 0;
      const size_t n_bytes = (static_cast<size_t>(n < kSmallest ? kSmallest : n + n / 4) * sizeof(T) + 63) / 64 * 64;
      data_ = static_cast<T*>(std::aligned_alloc(64, n_bytes));
      if (!data_) throw std::bad_alloc();
      capacity_ = static_cast<int64_t>(n_bytes / sizeof(T));
    }
    size_ = n;
  }
  void zero() { std::memset(static_cast<void*>(data_), 0, static_cast<size_t>(size_) * sizeof(T)); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  int64_t size() const { return size_; }

 private:
  static constexpr int64_t kSmallest = 1024, kAlwaysKept = 1 << 18;
  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace labeltrees
