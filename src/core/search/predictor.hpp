// Predicts one query per call from Python, with as little as possible around the search itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "common/bindings.hpp"
#include "encode/encoder.hpp"
#include "search/bindings.hpp"
#include "search/results.hpp"

namespace labeltrees::search {

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

// The options of one call. None: as the predictor was made. as_lists: return lists instead of arrays.
struct CallOptions {
  nb::handle k, exclude, candidates, label_weight, limits, threshold, diversity;
  bool as_lists = false;
};

// Binds method(arguments of the query..., options...) with the names and defaults of all options of a call.
template <class Class, class Method, class... Extra>
void def_call(Class& bound, const char* name, Method&& method, const Extra&... extra) {
  bound.def(name, method, extra..., nb::arg("k").none() = nb::none(), nb::arg("exclude").none() = nb::none(),
            nb::arg("candidates").none() = nb::none(), nb::arg("label_weight").none() = nb::none(),
            nb::arg("limits").none() = nb::none(), nb::arg("threshold").none() = nb::none(),
            nb::arg("diversity").none() = nb::none());
}

// The labels that have the names of the items in a history.
using SeenList = std::vector<int32_t>;

// Runs the searches of a predictor, one per call. Shared by both model families.
class SingleAnswer {
 public:
  // owner: the native engine, which label sets must belong to. k: the number of labels that a call returns by default.
  // names: NativeNames of the labels, or None. with_names: return names instead of ids. logs: weights of labels are
  // logarithms.
  SingleAnswer(nb::object engine, const void* owner, nb::object request, int64_t k, int64_t n_labels, nb::object names,
               bool with_names, bool logs);

  const encode::NameTable* names() const { return names_; }
  int64_t n_no_features() const { return n_no_features_.load(std::memory_order_relaxed); }

  // Calls search(request, labels, scores, stats), which returns how many labels it found, and returns the first k of
  // them. Discounts were learned for lists of one length: with them, every call searches for that many labels. `seen`
  // holds labels that are excluded too.
  template <class Search>
  nb::tuple operator()(const CallOptions& options, const SeenList* seen, Search&& search) const {
    Call call(*this, options, seen);
    auto find = [&](int64_t* ids, float* values) {
      SearchStats stats;
      const int64_t found = call.drop_excluded(ids, values, search(call.request, ids, values, stats));
      if (stats.no_features) n_no_features_.fetch_add(1, std::memory_order_relaxed);
      return std::min(found, call.k);
    };
    if (options.as_lists) {
      std::vector<int64_t> ids(static_cast<size_t>(call.request.k));
      std::vector<float> values(ids.size());
      const int64_t found = find(ids.data(), values.data());
      return nb::make_tuple(label_list(ids.data(), found), score_list(values.data(), found));
    }
    nb::object labels = empty_(call.request.k, int64_), scores = empty_(call.request.k, float32_);
    auto* ids = data_of<int64_t>(labels);
    const int64_t found = find(ids, data_of<float>(scores));
    if (with_names_) return nb::make_tuple(label_list(ids, found), first(scores, found, call.request.k));
    return nb::make_tuple(first(labels, found, call.request.k), first(scores, found, call.request.k));
  }

 private:
  // One call: its request and the data that the request points into.
  struct Call {
    Call(const SingleAnswer& self, const CallOptions& options, const SeenList* seen);
    // Where the excluded labels were searched for too: removes them, and returns how many labels remain.
    int64_t drop_excluded(int64_t* labels, float* scores, int64_t found) const;

    SearchRequest request;
    int64_t k;
    LabelArgument exclude, candidates;
    WeightArgument weights;
    bool drop_later = false;

   private:
    void set_rules(const SingleAnswer& self, const CallOptions& options);
  };

  // The data of an array made by numpy.empty, valid as long as the array. Nobody else has the array yet, so its buffer
  // need not be held. It is requested without a format: NumPy would build that string again for every call.
  template <class T>
  static T* data_of(const nb::object& array) {
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
    T* data = static_cast<T*>(view.buf);
    PyBuffer_Release(&view);
    return data;
  }
  // The number of labels to return, at most the number of labels.
  int64_t returned(nb::handle k_given) const;
  // Names, or ids.
  nb::list label_list(const int64_t* labels, int64_t n) const;
  static nb::list score_list(const float* scores, int64_t n);
  static nb::object first(const nb::object& array, int64_t n, int64_t size) {
    if (n == size) return array;
    return nb::object(array[nb::slice(nb::int_(0), nb::int_(n), nb::none())]);
  }

  nb::object engine_, request_object_, names_object_;  // keep alive what the searches use
  const void* owner_;
  SearchRequest request_;
  int64_t k_, n_labels_;
  const encode::NameTable* names_ = nullptr;
  bool with_names_, logs_;
  mutable std::atomic<int64_t> n_no_features_{0};
  nb::object empty_, int64_, float32_;  // numpy.empty and two dtypes: faster than making an array with nanobind
};

class NativePredictor {
 public:
  // engine: a NativeEngine. encoder: a ContextEncoder, or None for a predictor that takes only features. names:
  // NativeNames of the labels, or None. label_of_feature: an array of int32, the label of the same item as each feature
  // or -1, to exclude the items of a history; or None.
  NativePredictor(Object<NativeEngine> engine, Object<NativeRequest> request, int64_t k,
                  Object<encode::ContextEncoder> encoder, Object<encode::NativeNames> names, bool with_names,
                  Object<ConstArray<int32_t>> label_of_feature);

  // (indices, values, k), or (CSR row, k=k), or (dense row, k=k), or (context, k). None: as the predictor was made.
  AnswerArrays operator()(nb::handle first, nb::handle second, const CallOptions& options) const {
    return answer(first, second, options);
  }
  // The same as lists of names or ids, and of scores with six digits: what a server writes as JSON.
  AnswerLists lists(nb::handle first, nb::handle second, CallOptions options) const {
    options.as_lists = true;
    return answer(first, second, options);
  }

  // Items and words of all contexts so far that the encoder did not know.
  int64_t n_unknown() const { return n_unknown_.load(std::memory_order_relaxed); }
  // Calls so far whose query had no feature.
  int64_t n_no_features() const { return answer_.n_no_features(); }

 private:
  nb::tuple answer(nb::handle first, nb::handle second, CallOptions options) const;
  bool is_context(nb::handle first) const;
  nb::tuple predict_context(nb::handle context, const CallOptions& options) const;
  void add_seen(int64_t feature, float value, SeenList& seen) const;
  nb::tuple predict_sparse(nb::handle indices, nb::handle values, const CallOptions& options) const;
  nb::tuple predict_dense(nb::handle row, const CallOptions& options) const;
  [[noreturn]] void refuse(nb::handle first) const;

  SearchEngine& engine_;
  SingleAnswer answer_;
  nb::object encoder_object_, label_array_;  // keep alive what is pointed to
  const encode::ContextEncoder* encoder_ = nullptr;
  const int32_t* label_of_feature_ = nullptr;
  mutable ScratchPool<encode::EncodeScratch> scratches_;
  mutable std::atomic<int64_t> n_unknown_{0};
};

}  // namespace labeltrees::search
