// What the predictors of both model families share: the number of labels of a call, and the arrays it returns.
#pragma once

#include <algorithm>
#include <string>

#include "common/bindings.hpp"
#include "search/bad_query.hpp"
#include "search/request_bindings.hpp"

namespace labeltrees {

// A contiguous array with one dimension, read through the buffer protocol (about 0.1 us; nanobind's ndarray takes 0.5).
class ArrayBuffer {
 public:
  ArrayBuffer(nb::handle object, const char* name) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
      PyErr_Clear();
      throw BadQuery(std::string(name) + " must be a contiguous array");
    }
    if (view_.ndim != 1) {
      PyBuffer_Release(&view_);
      throw BadQuery(std::string(name) + " must have one dimension");
    }
  }
  ArrayBuffer(const ArrayBuffer&) = delete;
  ~ArrayBuffer() { PyBuffer_Release(&view_); }

  int64_t size() const { return view_.shape[0]; }
  int64_t item_bytes() const { return view_.itemsize; }
  const char* format() const { return view_.format ? view_.format : "B"; }
  template <class T>
  T* data() const {
    return static_cast<T*>(view_.buf);
  }

 private:
  Py_buffer view_;
};

// Runs the searches of a predictor, one per call.
class SingleAnswer {
 public:
  // k: the number of labels that a call returns by default.
  SingleAnswer(nb::object engine, nb::object request, int64_t k, int64_t n_labels)
      : engine_(std::move(engine)),
        request_object_(std::move(request)),
        request_(nb::cast<const NativeRequest&>(request_object_).request),
        k_(k),
        n_labels_(std::max<int64_t>(n_labels, 1)) {
    nb::module_ numpy = nb::module_::import_("numpy");
    empty_ = numpy.attr("empty");
    int64_ = numpy.attr("dtype")("int64");
    float32_ = numpy.attr("dtype")("float32");
  }

  nb::handle engine() const { return engine_; }

  // Calls search(request, labels, scores), which returns how many labels it found, and returns the first k of them.
  // Discounts were learned for lists of one length: with them, every call searches for that many labels.
  template <class Search>
  nb::tuple operator()(nb::handle k_given, Search&& search) const {
    const int64_t k = returned(k_given);
    SearchRequest request = request_;
    if (!request.discounts) request.k = k;
    nb::object labels = empty_(request.k, int64_), scores = empty_(request.k, float32_);
    int64_t found;
    {
      ArrayBuffer own_labels(labels, "labels"), own_scores(scores, "scores");
      found = std::min<int64_t>(search(request, own_labels.data<int64_t>(), own_scores.data<float>()), k);
    }
    if (found < request.k) {
      nb::slice filled(nb::int_(0), nb::int_(found), nb::none());
      labels = labels[filled];
      scores = scores[filled];
    }
    return nb::make_tuple(labels, scores);
  }

 private:
  // The number of labels to return, at most the number of labels.
  int64_t returned(nb::handle k_given) const {
    int64_t k = k_;
    if (!k_given.is_none()) {
      k = PyLong_Check(k_given.ptr()) ? PyLong_AsLongLong(k_given.ptr()) : -1;
      if (k < 1) {
        PyErr_Clear();
        throw BadQuery("k must be an integer of at least 1");
      }
    }
    k = std::min(k, n_labels_);
    if (request_.discounts && k > request_.k)
      throw BadQuery("k must be at most " + std::to_string(request_.k) +
                     ", the number of labels that this predictor searches for");
    return k;
  }

  nb::object engine_, request_object_;  // keep alive what the searches use
  SearchRequest request_;
  int64_t k_, n_labels_;
  nb::object empty_, int64_, float32_;  // numpy.empty and two dtypes: faster than making an array with nanobind
};

}  // namespace labeltrees
