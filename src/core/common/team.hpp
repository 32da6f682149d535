// A team of threads for many short parallel steps in a row. Waking it costs a few microseconds; starting new threads
// for every step (parallel_for) costs tens.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace labeltrees {

class Team {
 public:
  explicit Team(int size) : size_(size < 1 ? 1 : size) {
    for (int member = 1; member < size_; ++member) threads_.emplace_back([this] { wait_for_work(); });
  }

  ~Team() {
    stop_ = true;
    generation_.fetch_add(1);
    generation_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // Calls step(block) for each block in [0, n_blocks). A step must not throw. Its results may depend only on the block,
  // not on the thread, so that they are the same for a team of any size.
  template <class Step>
  void run(int64_t n_blocks, Step&& step) {
    if (size_ == 1 || n_blocks <= 1) {
      for (int64_t block = 0; block < n_blocks; ++block) step(block);
      return;
    }
    step_ = [](void* context, int64_t block) { (*static_cast<std::remove_reference_t<Step>*>(context))(block); };
    context_ = &step;
    n_blocks_ = n_blocks;
    next_ = 0;
    working_ = size_ - 1;
    generation_.fetch_add(1);
    generation_.notify_all();
    take_blocks();
    for (int left = working_; left != 0; left = working_) working_.wait(left);
  }

 private:
  void take_blocks() {
    for (int64_t block; (block = next_.fetch_add(1)) < n_blocks_;) step_(context_, block);
  }

  void wait_for_work() {
    for (int64_t seen = 0;;) {
      generation_.wait(seen);
      seen = generation_;
      if (stop_) return;
      take_blocks();
      if (working_.fetch_sub(1) == 1) working_.notify_one();
    }
  }

  const int size_;
  std::vector<std::thread> threads_;
  std::atomic<int64_t> generation_{0};
  std::atomic<int64_t> next_{0};
  std::atomic<int> working_{0};
  std::atomic<bool> stop_{false};
  int64_t n_blocks_ = 0;
  void (*step_)(void*, int64_t) = nullptr;
  void* context_ = nullptr;
};

}  // namespace labeltrees
