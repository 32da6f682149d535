// A growing array that can be handed to NumPy.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace labeltrees {

// realloc moves blocks of more than 32 MB (glibc) by remapping their pages, and pages never written cost nothing. So
// what outgrows a small block gets a larger one than that at once, and memory stays at what was read; a growing
// std::vector would copy, and hold the old and the new copy at once.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](int64_t i) { return data_[i]; }
  int64_t size() const { return size_; }

  void push_back(T value) {
    if (size_ == capacity_) grow();
    data_[size_++] = value;
  }

  void shrink(int64_t size) { size_ = size; }

  // Gives the memory away, to be freed with std::free; never null.
  T* release() {
    allocate(std::max<int64_t>(size_, 1));
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  static constexpr int64_t SMALL = (1 << 18) / sizeof(T), LARGE = (40 << 20) / sizeof(T);

  void grow() { allocate(capacity_ < SMALL ? std::max<int64_t>(2 * capacity_, 1024) : std::max(2 * capacity_, LARGE)); }

  void allocate(int64_t capacity) {
    void* moved = std::realloc(data_, static_cast<size_t>(capacity) * sizeof(T));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
    if (capacity_ >= LARGE) ask_for_huge_pages();
  }

  // Filling fresh memory costs a page fault every 4 KB otherwise: an eighth of the time of reading EURLex-4K.
  void ask_for_huge_pages() {
#if defined(MADV_HUGEPAGE)
    constexpr uintptr_t PAGE = 1 << 16;  // at least the page size of any machine
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(data_) + PAGE - 1) / PAGE * PAGE;
    const uintptr_t end = reinterpret_cast<uintptr_t>(data_ + capacity_) / PAGE * PAGE;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish: failing does no harm
#endif
  }

  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace labeltrees
