// Memory aligned to a cache line, left uninitialised: what a thread works in, from one node to the next.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace labeltrees {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Room for n elements; what was in it is lost. A buffer large and far too large (the root's) is given back.
  void resize(int64_t n) {
    if (n > capacity_ || (n < capacity_ / 4 && capacity_ > kKept)) {
      std::free(data_);
      data_ = nullptr;
      capacity_ = 0;
      const size_t bytes = (static_cast<size_t>(n < kSmallest ? kSmallest : n + n / 4) * sizeof(T) + 63) / 64 * 64;
      data_ = static_cast<T*>(std::aligned_alloc(64, bytes));
      if (!data_) throw std::bad_alloc();
      capacity_ = static_cast<int64_t>(bytes / sizeof(T));
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
  static constexpr int64_t kSmallest = 1024, kKept = 1 << 18;
  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace labeltrees
