#include "chunk/memory.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "chunk/format.hpp"

namespace labeltrees {

namespace {
constexpr int64_t kPage = 4096, kHugePage = int64_t{2} << 20;

int64_t whole_pages(int64_t size) { return round_up(size > 0 ? size : 1, size < kHugePage ? kPage : kHugePage); }
}  // namespace

ChunkMemory::ChunkMemory(int64_t capacity) {
  // Whole huge pages, at an address that is a multiple of one: the surplus before and behind is given back at once.
  capacity_ = whole_pages(capacity);
  int64_t asked = capacity_ + kHugePage;
  void* got = mmap(nullptr, static_cast<size_t>(asked), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) throw std::bad_alloc();
  auto start = reinterpret_cast<uintptr_t>(got);
  auto aligned = static_cast<uintptr_t>(round_up(static_cast<int64_t>(start), kHugePage));
  if (aligned > start) munmap(got, aligned - start);
  uintptr_t end = start + static_cast<uintptr_t>(asked), used = aligned + static_cast<uintptr_t>(capacity_);
  if (end > used) munmap(reinterpret_cast<void*>(used), end - used);
  data_ = reinterpret_cast<uint8_t*>(aligned);
#if defined(MADV_HUGEPAGE)
  madvise(data_, static_cast<size_t>(capacity_), MADV_HUGEPAGE);  // a wish: nothing to do if it is not granted
#endif
}

ChunkMemory::ChunkMemory(ChunkMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}

ChunkMemory& ChunkMemory::operator=(ChunkMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

ChunkMemory::~ChunkMemory() {
  if (data_) munmap(data_, static_cast<size_t>(capacity_));
}

}  // namespace labeltrees
