// Memory for chunks: large, aligned, and on huge pages where the system gives them. A search jumps about in it, and
// with pages of 4 KiB nearly every jump also misses the processor's table of pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltrees {

class ChunkMemory {
 public:
  ChunkMemory() = default;
  explicit ChunkMemory(int64_t capacity);  // zeroed; pages are taken only when written; throws std::bad_alloc
  ChunkMemory(ChunkMemory&& other) noexcept;
  ChunkMemory& operator=(ChunkMemory&& other) noexcept;
  ~ChunkMemory();

  uint8_t* data() const { return data_; }
  int64_t capacity() const { return capacity_; }

 private:
  uint8_t* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace labeltrees
