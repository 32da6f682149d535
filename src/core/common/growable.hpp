// An array of unknown final size, without the copies and the zeroing of std::vector.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace labeltrees {

// realloc moves the pages of a large block instead of copying them, so growing never holds the data twice.
template <class T>
class Growable {
 public:
  Growable() = default;
  Growable(const Growable&) = delete;
  Growable& operator=(const Growable&) = delete;
  ~Growable() { std::free(data_); }

  void append(const T* values, int64_t n) {
    if (size_ + n > capacity_) reallocate(std::max(size_ + n, capacity_ + capacity_ / 2));
    if (n > 0) std::memcpy(data_ + size_, values, n * sizeof(T));
    size_ += n;
  }

  int64_t size() const { return size_; }

  // Hands the array over, cut to its size; free it with std::free.
  T* release() {
    if (size_ != capacity_ || data_ == nullptr) reallocate(size_);
    return std::exchange(data_, nullptr);
  }

 private:
  void reallocate(int64_t capacity) {
    void* moved = std::realloc(data_, std::max<int64_t>(capacity, 1) * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace labeltrees
