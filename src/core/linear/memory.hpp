// What training will need, and how to stay below a limit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "linear/data.hpp"
#include "linear/solver.hpp"

namespace labeltrees {

// Upper bounds on a node's problem, from counts alone: points that have several of its labels are counted more than
// once.
struct NodeSize {
  int64_t rows, values, columns, pairs;
};

struct MemoryNeed {
  int64_t fixed;         // for all of the training
  int64_t largest_task;  // while the largest task runs alone
  int64_t tasks;         // while the largest tasks run side by side, one a thread
  int64_t result;        // the classifiers, if no weight were dropped
};

class MemoryPlan {
 public:
  MemoryPlan(const Points& points, const PointLists& labels, const TreeView& tree, int32_t n_labels,
             const int64_t* extra_indptr, bool weighted);

  // Bytes of a node's rows, and of one task that works on them.
  int64_t rows_bytes(int64_t node) const;
  int64_t task_bytes(int64_t node) const;
  int64_t n_tasks(int64_t node) const;
  MemoryNeed need(int n_threads) const;

 private:
  const Points& points_;
  const TreeView& tree_;
  int64_t n_pairs_ = 0;
  int32_t n_labels_;
  bool weighted_;
  std::vector<NodeSize> sizes_;
};

// Lets work in while the bytes it holds stay below a limit; what is too large comes in when it is alone.
class MemoryGate {
 public:
  explicit MemoryGate(int64_t limit) : limit_(limit) {}

  // False if the work has been stopped meanwhile.
  bool enter(int64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return n_inside_ == 0 || held_ + kept_ + bytes <= limit_ || stopped_; });
    ++n_inside_;
    held_ += bytes;
    return !stopped_;
  }
  // Whoever entered leaves, having changed by `kept` what stays behind for others.
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
