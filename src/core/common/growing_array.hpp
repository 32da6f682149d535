// A growing array whose memory can be handed to NumPy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "common/platform.hpp"

namespace labeltrees {

// realloc moves blocks of more than 32 MB (glibc) by remapping their pages, and pages never written cost nothing. So
// an array that outgrows a small block gets a larger one than that at once, and it never holds its data twice as a
// growing std::vector does. Elements are not initialised.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() { std::free(data_); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](int64_t i) { return data_[i]; }
  int64_t size() const { return size_; }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }

  void append(const T* values, int64_t n) {
    if (size_ + n > capacity_) grow(size_ + n);
    if (n > 0) std::memcpy(data_ + size_, values, static_cast<size_t>(n) * sizeof(T));
    size_ += n;
  }

  // Drops the elements from `size` on.
  void shrink(int64_t size) { size_ = size; }

  // Gives the memory away, cut to its size, to be freed with std::free; never null.
  T* release() {
    allocate(std::max<int64_t>(size_, 1));
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  static constexpr int64_t kSmall = (1 << 18) / sizeof(T), kLarge = (40 << 20) / sizeof(T), kSmallest = 1024;

  void grow(int64_t size) { allocate(std::max({size, 2 * capacity_, capacity_ < kSmall ? kSmallest : kLarge})); }

  void allocate(int64_t capacity) {
    void* moved = std::realloc(data_, static_cast<size_t>(capacity) * sizeof(T));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
    // Filling fresh memory costs a page fault every 4 KB otherwise: an eighth of the time of reading EURLex-4K.
    if (capacity_ >= kLarge) advise_huge_pages(data_, capacity_ * static_cast<int64_t>(sizeof(T)));
  }

  void swap(GrowingArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace labeltrees
