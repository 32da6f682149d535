// How much memory training needs, and how to stay below a limit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "common/platform.hpp"
#include "linear/node.hpp"
#include "linear/train.hpp"

namespace labeltrees::linear {

// Upper bounds on a node's problem, from counts alone: points that have several of its labels are counted more than
// once.
struct NodeSize {
  int64_t rows, values, columns, pairs;
};

struct MemoryNeed {
  int64_t fixed;          // during the whole training
  int64_t largest_group;  // while the largest group of lanes is trained alone
  int64_t groups;         // while the largest groups are trained at once, one per thread
  int64_t result;         // the classifiers, if no weight is dropped
};

class MemoryPlan {
 public:
  MemoryPlan(const Points& points, const PointLists& labels, const tree::TreeView& tree, int32_t n_labels,
             const int64_t* extra_indptr, bool weighted);

  // Bytes of a node's rows, and of one group of lanes that is trained on them.
  int64_t rows_bytes(int64_t node) const;
  int64_t group_bytes(int64_t node) const;
  const NodeSize& size(int64_t node) const { return sizes_[node]; }
  MemoryNeed need(int n_threads) const;

 private:
  Points points_;
  tree::TreeView tree_;
  int64_t n_pairs_ = 0;
  int32_t n_labels_;
  bool weighted_;
  std::vector<NodeSize> sizes_;
};

// Admits work while the bytes in use stay below a limit. Work that is too large is admitted when it is alone.
class MemoryGate {
 public:
  explicit MemoryGate(int64_t limit) : limit_(limit) {}

  // Waits for admission. False if stop() was called.
  bool enter(int64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return n_inside_ == 0 || held_ + kept_ + bytes <= limit_ || stopped_; });
    ++n_inside_;
    held_ += bytes;
    return !stopped_;
  }
  // Ends work that was admitted. `kept`: change of the bytes that stay in use afterwards.
  void leave(int64_t bytes, int64_t kept) {
    std::lock_guard lock(mutex_);
    --n_inside_;
    held_ -= bytes;
    kept_ += kept;
    changed_.notify_all();
    if (held_ + kept_ > limit_) throw std::length_error("the classifiers do not fit");
  }
  void stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t limit_, held_ = 0, kept_ = 0;
  int n_inside_ = 0;
  bool stopped_ = false;
};

// Stores the finished classifiers of a thread, in pages that grow without copying and are freed one by one. It is a
// queue of weights: written at the end by one thread, later read from the front.
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

}  // namespace labeltrees::linear
