// Memory: scratch that is reused from one task to the next, arrays that grow without copying and can be handed to
// NumPy, and a pool of the working memory of calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/platform.hpp"

namespace labeltrees {

// Working memory aligned to a cache line that is reused from one task to the next.
//
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
      if (n_bytes >= kAdvised) advise_huge_pages(data_, static_cast<int64_t>(n_bytes));
      capacity_ = static_cast<int64_t>(n_bytes / sizeof(T));
    }
    size_ = n;
  }
  void zero() {
    if (size_ > 0) std::memset(static_cast<void*>(data_), 0, static_cast<size_t>(size_) * sizeof(T));
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  int64_t size() const { return size_; }

 private:
  static constexpr int64_t kSmallest = 1024, kAlwaysKept = 1 << 18;
  static constexpr size_t kAdvised = size_t{4} << 20;  // bytes; huge pages save most of the misses of random access
  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

// A growing array whose memory can be handed to NumPy.
//
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

// Bytes that vectors hold, whether they are used or not.
template <class T>
size_t held_bytes(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}
template <class T>
size_t held_bytes(const std::vector<std::vector<T>>& vectors) {
  size_t total = vectors.capacity() * sizeof(std::vector<T>);
  for (const std::vector<T>& vector : vectors) total += held_bytes(vector);
  return total;
}

// Working memory of finished calls, kept for the next ones. It has no lock: a child process that is forked while
// another thread holds a lock would wait for that lock forever.
//
// A Scratch that can grow with the size of a query has a method held_bytes(). If one query has made it large, it is
// freed instead of being kept.
template <class Scratch>
class ScratchPool {
 public:
  static constexpr size_t kMostKept = size_t{4} << 20;

  ScratchPool() = default;
  ScratchPool(const ScratchPool&) = delete;
  ~ScratchPool() {
    for (auto& slot : slots_) delete slot.load();
  }

  // Scratch that belongs to the caller while this object lives.
  class Borrowed {
   public:
    explicit Borrowed(ScratchPool& pool) : pool_(pool) {
      for (auto& slot : pool_.slots_)
        if (slot.load(std::memory_order_relaxed) &&
            (scratch_ = std::unique_ptr<Scratch>(slot.exchange(nullptr, std::memory_order_acquire))))
          return;
      scratch_ = std::make_unique<Scratch>();
    }
    Borrowed(const Borrowed&) = delete;
    ~Borrowed() {
      if constexpr (requires { scratch_->held_bytes(); })
        if (scratch_->held_bytes() > kMostKept) return;
      for (auto& slot : pool_.slots_) {
        Scratch* empty = nullptr;
        if (!slot.load(std::memory_order_relaxed) &&
            slot.compare_exchange_strong(empty, scratch_.get(), std::memory_order_release, std::memory_order_relaxed)) {
          scratch_.release();
          return;
        }
      }
    }
    Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::array<std::atomic<Scratch*>, 16> slots_{};
};

}  // namespace labeltrees
