// Shared by all bindings: array types, handing memory to NumPy, and long jobs with progress and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "common/bad_query.hpp"
#include "common/gil.hpp"
#include "common/memory.hpp"
#include "common/platform.hpp"
#include "common/stable_abi.hpp"
#include "common/threads.hpp"

namespace nb = nanobind;

namespace labeltrees {

// Every argument of these types is bound with noconvert(), so that no binding makes a hidden copy.
template <class T>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using ConstArray = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Results, and arguments that are kept as Python objects, with the types that _core.pyi shows (scripts/make_stub.py).
template <class T>
using NumPy = nb::ndarray<T, nb::numpy, nb::ndim<1>>;
template <class... Ts>
using Tuple = nb::typed<nb::tuple, Ts...>;
template <class T>
using List = nb::typed<nb::list, T>;
template <class T>
using Object = nb::typed<nb::object, T>;

// A field of a Python settings object, whose values Python has checked; a value of another type is a TypeError.
template <class T>
T read_field(nb::handle settings, const char* name) {
  nb::object value = settings.attr(name);
  if constexpr (std::is_same_v<T, bool>) {
    const int is_true = PyObject_IsTrue(value.ptr());
    if (is_true < 0) throw nb::python_error();
    return is_true == 1;
  } else {
    T found;
    // An array is never converted: pointers into a copy would not outlive this call.
    if (nb::try_cast(value, found, std::is_arithmetic_v<T>)) return found;
    throw nb::type_error((std::string(name) + " of the settings has a wrong type: " + name_of_type(value)).c_str());
  }
}
// The same, or `otherwise` for None.
template <class T>
T read_field(nb::handle settings, const char* name, T otherwise) {
  return nb::object(settings.attr(name)).is_none() ? otherwise : read_field<T>(settings, name);
}

// Item i of a list or a tuple, which has it. Without the interpreter's lock another thread can shorten the list in
// between: then it is an IndexError.
inline nb::object item_of(nb::handle sequence, Py_ssize_t i) {
#if defined(Py_GIL_DISABLED)
  if (PyList_Check(sequence.ptr())) {
    nb::object item = nb::steal(PyList_GetItemRef(sequence.ptr(), i));
    if (!item.is_valid()) throw nb::python_error();
    return item;
  }
#endif
  return nb::borrow(PySequence_Fast_GET_ITEM(sequence.ptr(), i));
}

// The value of a key in a dict, or a null object.
inline nb::object value_of(nb::handle dict, nb::handle key) {
#if defined(Py_GIL_DISABLED)
  PyObject* value = nullptr;
  PyDict_GetItemRef(dict.ptr(), key.ptr(), &value);
  nb::object found = nb::steal(value);
#else
  nb::object found = nb::borrow(PyDict_GetItemWithError(dict.ptr(), key.ptr()));
#endif
  if (!found.is_valid() && PyErr_Occurred()) throw nb::python_error();
  return found;
}

// These functions hand memory to NumPy without copying.
template <class T>
NumPy<T> to_numpy(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NumPy<T>(owned->data(), {owned->size()}, owner);
}

template <class T>
NumPy<T> to_numpy(GrowingArray<T>&& values) {
  const auto size = static_cast<size_t>(values.size());
  T* data = values.release();
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return NumPy<T>(data, {size}, owner);
}

// The first n elements of type T.
template <class T>
NumPy<T> to_numpy(HugePageMemory&& values, int64_t n) {
  auto* owned = new HugePageMemory(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<HugePageMemory*>(p); });
  return NumPy<T>(owned->data(), {static_cast<size_t>(n)}, owner);
}

// Calls progress(job.done). Returns whether it succeeded; otherwise the Python error is set.
inline bool report_progress(nb::handle progress, const Job& job) {
  return outlast_interpreter([&] {
    nb::object done = nb::steal(PyLong_FromLongLong(job.done.load()));
    return done.is_valid() && nb::steal(PyObject_CallFunctionObjArgs(progress.ptr(), done.ptr(), nullptr)).is_valid();
  });
}

// Runs work() in another thread with the GIL released. Every 50 ms this thread checks for Ctrl-C and calls
// progress(job.done). After Ctrl-C it sets job.cancel, so that work stops at its next job.check().
template <class Work>
void run_job(Job& job, nb::object progress, Work&& work) {
  std::mutex mutex;
  std::condition_variable finished_changed;
  bool finished = false;
  std::exception_ptr error;
  bool python_failed = false;
  std::unique_ptr<nb::python_error> python_error;
  {
    ReleaseLock release;
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
        release.with_lock([&] {
          const bool interrupted = outlast_interpreter([] { return PyErr_CheckSignals() != 0; });
          if (!interrupted && (progress.is_none() || report_progress(progress, job))) return;
          python_error = std::make_unique<nb::python_error>();
          python_failed = true;
          job.cancel = true;
        });
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (python_failed) throw std::move(*python_error);
  if (error) std::rethrow_exception(error);
  if (!progress.is_none() && !report_progress(progress, job)) throw nb::python_error();
}

}  // namespace labeltrees
