// Where a thread stores finished classifiers: pages that grow without copying and are freed one by one.
#pragma once

#include <cstdint>
#include <deque>

#include "common/platform.hpp"

namespace labeltrees {

// A queue of weights: written at the end by one thread, later read from the front.
class WeightQueue {
 public:
  static constexpr int64_t kWeightsPerChunk = 1 << 18, kBytesPerChunk = kWeightsPerChunk * 8;

  WeightQueue() = default;
  ~WeightQueue() {
    while (!chunks_.empty()) drop();
  }
  WeightQueue(const WeightQueue&) = delete;
  WeightQueue& operator=(const WeightQueue&) = delete;

  void swap(WeightQueue& other) { chunks_.swap(other.chunks_); }

  // Adds space for n adjacent weights.
  void push(int64_t n, int32_t** features, float** values) {
    if (chunks_.empty() || chunks_.back().used + n > chunks_.back().capacity) add(n);
    Chunk& chunk = chunks_.back();
    *features = chunk.features + chunk.used;
    *values = chunk.values() + chunk.used;
    chunk.used += n;
  }

  // The next n weights, which were pushed together. Memory before them is freed, so that copying all weights to their
  // final arrays needs little more than one copy of them.
  void pop(int64_t n, const int32_t** features, const float** values) {
    if (n == 0) return;
    while (chunks_.front().read == chunks_.front().used) drop();
    Chunk& chunk = chunks_.front();
    *features = chunk.features + chunk.read;
    *values = chunk.values() + chunk.read;
    chunk.read += n;
  }

 private:
  struct Chunk {
    int32_t* features;
    int64_t capacity, used, read;
    float* values() const { return reinterpret_cast<float*>(features + capacity); }
  };
  std::deque<Chunk> chunks_;

  // Mapped pages, because the allocator would keep freed memory of this size.
  void add(int64_t n) {
    const int64_t capacity = n > kWeightsPerChunk ? n : kWeightsPerChunk;
    chunks_.push_back({static_cast<int32_t*>(map_pages(capacity * 8)), capacity, 0, 0});
  }
  void drop() {
    unmap_pages(chunks_.front().features, chunks_.front().capacity * 8);
    chunks_.pop_front();
  }
};

}  // namespace labeltrees
