// Threads for one call. They end with the call that started them, so a loaded model can be used after fork().
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

}  // namespace labeltrees
