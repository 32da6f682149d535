// What every binding file shares: array types, and running long work with progress and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "common/growing_array.hpp"
#include "common/platform.hpp"
#include "common/threads.hpp"

namespace nb = nanobind;

namespace labeltrees {

// noconvert() on every argument of these types: a binding never copies behind the caller's back.
template <class T>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using ConstArray = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Hands a vector over to NumPy without copying.
template <class T>
nb::ndarray<T, nb::numpy, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

template <class T>
nb::ndarray<T, nb::numpy, nb::ndim<1>> to_numpy(GrowingArray<T>&& values) {
  const auto size = static_cast<size_t>(values.size());
  T* data = values.release();
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<1>>(data, {size}, owner);
}

// The first n elements of type T of memory that NumPy then owns.
template <class T>
nb::ndarray<T, nb::numpy, nb::ndim<1>> to_numpy(HugePageMemory&& values, int64_t n) {
  auto* owned = new HugePageMemory(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<HugePageMemory*>(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<1>>(owned->data(), {static_cast<size_t>(n)}, owner);
}

// Runs work() on a thread of its own with the GIL released. Meanwhile this thread looks every 50 ms whether the user
// pressed Ctrl-C (work is then told through job.cancel and stops at its next job.check()) and calls progress(job.done).
template <class Work>
void run_job(Job& job, nb::object progress, Work&& work) {
  std::mutex mutex;
  std::condition_variable finished_changed;
  bool finished = false;
  std::exception_ptr error;
  bool python_failed = false;
  std::unique_ptr<nb::python_error> python_error;
  {
    nb::gil_scoped_release release;
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      std::lock_guard lock(mutex);
      finished = true;
      finished_changed.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!finished_changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return finished; })) {
      lock.unlock();
      if (!python_failed) {
        nb::gil_scoped_acquire acquire;
        try {
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
          if (!progress.is_none()) progress(job.done.load());
        } catch (nb::python_error& raised) {
          python_error = std::make_unique<nb::python_error>(std::move(raised));
          python_failed = true;
          job.cancel = true;
        }
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (python_failed) throw std::move(*python_error);
  if (error) std::rethrow_exception(error);
  if (!progress.is_none()) progress(job.done.load());
}

// One function per area, each in its own file <area>_bindings.cpp.
void bind_build(nb::module_& module);
void bind_simd(nb::module_& module);
void bind_tree(nb::module_& module);
void bind_linear(nb::module_& module);
void bind_labels(nb::module_& module);
void bind_xmc(nb::module_& module);
void bind_chunks(nb::module_& module);
void bind_search_request(nb::module_& module);
void bind_search(nb::module_& module);
void bind_common(nb::module_& module);
void bind_tfidf(nb::module_& module);
void bind_text(nb::module_& module);
void bind_hsoftmax(nb::module_& module);

}  // namespace labeltrees
