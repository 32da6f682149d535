// Releases the interpreter lock and takes it back, also while the interpreter ends.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#include <type_traits>

namespace labeltrees {

// Calls fn(), which may wait for the interpreter lock and must not throw. CPython before 3.14 ends a daemon thread that
// asks for the lock while the interpreter ends: it unwinds the stack, and that aborts the process at the first function
// that is noexcept or catches everything. Here the thread sleeps instead until the process is gone, as it does in
// Python 3.14.
template <class Fn>
decltype(auto) outlast_interpreter(Fn&& fn) {
  struct Sleeper {
    bool returned = false;
    ~Sleeper() {
      while (!returned) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  } sleeper;
  if constexpr (std::is_void_v<decltype(fn())>) {
    fn();
    sleeper.returned = true;
  } else {
    auto result = fn();
    sleeper.returned = true;
    return result;
  }
}

// Waits for the lock. Not inlined into destructors: those are noexcept, where a compiler need not unwind.
[[gnu::noinline]] inline void take_interpreter_lock(PyThreadState* state) {
  outlast_interpreter([&] { PyEval_RestoreThread(state); });
}

// The interpreter lock is released while this object lives.
class ReleaseLock {
 public:
  ReleaseLock() : state_(PyEval_SaveThread()) {}
  ReleaseLock(const ReleaseLock&) = delete;
  ~ReleaseLock() { take_interpreter_lock(state_); }

  // Calls fn with the lock, and releases it again.
  template <class Fn>
  void with_lock(Fn&& fn) {
    take_interpreter_lock(state_);
    fn();
    state_ = PyEval_SaveThread();
  }

 private:
  PyThreadState* state_;
};

}  // namespace labeltrees
