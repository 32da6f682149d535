// Threads for one call (parallel_for), and teams for many short steps in a row (Team). They end with the call that
// started them, so a loaded model can be used after fork().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace labeltrees {

// Thrown by long work after Ctrl-C; run_job then raises the Python exception.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// Shared by a running job and the thread that watches it.
struct Job {
  std::atomic<bool> cancel{false};
  std::atomic<int64_t> done{0};  // units of work finished, for progress

  void check() const {
    if (cancel.load(std::memory_order_relaxed)) throw Cancelled();
  }
};

// Calls body(task, thread) for every task in [0, n_tasks), starting tasks in order, on at most n_threads threads
// including the caller's. The first exception stops the others and is rethrown here. The result of a task must not
// depend on its thread, so that results are the same for any number of threads.
template <class Body>
void parallel_for(int64_t n_tasks, int n_threads, Body&& body) {
  n_threads = static_cast<int>(std::min<int64_t>(std::max(n_threads, 1), n_tasks));
  if (n_threads <= 1) {
    for (int64_t task = 0; task < n_tasks; ++task) body(task, 0);
    return;
  }
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  std::mutex error_mutex;
  auto work = [&](int thread) {
    try {
      for (int64_t task; !failed.load(std::memory_order_relaxed) && (task = next.fetch_add(1)) < n_tasks;)
        body(task, thread);
    } catch (...) {
      std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      failed = true;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(n_threads - 1);
  for (int thread = 1; thread < n_threads; ++thread) threads.emplace_back(work, thread);
  work(0);
  for (auto& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

// A team of threads for many short parallel steps in a row. Waking it costs a few microseconds; starting new threads
// for every step (parallel_for) costs tens. A step never waits for a member that has not woken up yet: on a busy
// machine the others do its work.
class Team {
 public:
  explicit Team(int size) : size_(size < 1 ? 1 : size) {
    for (int member = 1; member < size_; ++member) threads_.emplace_back([this] { wait_for_work(); });
  }

  ~Team() {
    stop_ = true;
    gate_ += 2;
    gate_.notify_all();
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
    gate_ += 1;  // opens
    gate_.notify_all();
    take_blocks();
    gate_ += 1;  // closes
    for (int left = inside_; left != 0; left = inside_) inside_.wait(left);
  }

 private:
  void take_blocks() {
    for (int64_t block; (block = next_.fetch_add(1)) < n_blocks_;) step_(context_, block);
  }

  // A member enters before it looks whether the gate is open, and the caller looks for members inside after closing it:
  // so either the member turns back, or the caller waits for it.
  void wait_for_work() {
    for (int64_t seen = 0;;) {
      gate_.wait(seen);
      seen = gate_;
      if (stop_) return;
      inside_ += 1;
      if (gate_ % 2 == 1) take_blocks();
      if (inside_.fetch_sub(1) == 1) inside_.notify_one();
    }
  }

  const int size_;
  std::vector<std::thread> threads_;
  std::atomic<int64_t> gate_{0};  // odd while a step may be entered
  std::atomic<int64_t> next_{0};
  std::atomic<int> inside_{0};  // members, without the caller
  std::atomic<bool> stop_{false};
  int64_t n_blocks_ = 0;
  void (*step_)(void*, int64_t) = nullptr;
  void* context_ = nullptr;
};

}  // namespace labeltrees
