// How much memory training needs, and how to stay below a limit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "linear/data.hpp"
#include "linear/train.hpp"

namespace labeltrees {

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
  MemoryPlan(const Points& points, const PointLists& labels, const TreeView& tree, int32_t n_labels,
             const int64_t* extra_indptr, bool weighted);

  // Bytes of a node's rows, and of one group of lanes that is trained on them.
  int64_t rows_bytes(int64_t node) const;
  int64_t group_bytes(int64_t node) const;
  const NodeSize& size(int64_t node) const { return sizes_[node]; }
  MemoryNeed need(int n_threads) const;

 private:
  Points points_;
  TreeView tree_;
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

}  // namespace labeltrees
