#include "search/predictor.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace labeltrees {

namespace {

// A one-dimensional contiguous array, seen through the buffer protocol (about 0.1 us; nanobind's ndarray takes 0.5).
class Buffer {
 public:
  Buffer(nb::handle object, const char* name) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
      PyErr_Clear();
      throw BadQuery(std::string(name) + " must be a contiguous array");
    }
    if (view_.ndim != 1) {
      PyBuffer_Release(&view_);
      throw BadQuery(std::string(name) + " must have one dimension");
    }
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }

  int64_t size() const { return view_.shape[0]; }
  bool is(char kind, int64_t bytes) const {  // kind 'i' or 'f'
    const char* format = view_.format ? view_.format : "B";
    if (*format == '=' || *format == '<' || *format == '@') ++format;
    bool matches = kind == 'i' ? std::strchr("ilq", *format) != nullptr : *format == 'f' || *format == 'd';
    return matches && format[0] && !format[1] && view_.itemsize == bytes;
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(view_.buf);
  }

 private:
  Py_buffer view_;
};

// The array as T, without a copy where it is one already.
template <class T, class Other>
const T* as_type(const Buffer& buffer, char kind, const char* name, const char* allowed, std::vector<T>& copy) {
  if (buffer.is(kind, sizeof(T))) return buffer.data<const T>();
  if (!buffer.is(kind, sizeof(Other))) throw BadQuery(std::string(name) + " must be " + allowed);
  const Other* values = buffer.data<const Other>();
  copy.resize(static_cast<size_t>(buffer.size()));
  for (int64_t i = 0; i < buffer.size(); ++i) {
    copy[i] = static_cast<T>(values[i]);
    if constexpr (std::is_integral_v<T>)
      if (copy[i] != values[i]) throw BadQuery(std::string(name) + " must be below n_features");
  }
  return copy.data();
}

void check_finite(const float* values, int64_t n) {
  // A sum of zero times each value is zero unless one is infinite or NaN; this loop needs no branch.
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += values[i] * 0.0f;
  if (!(sum == 0.0f)) throw BadQuery("values must be finite");
}

}  // namespace

NativePredictor::NativePredictor(nb::object engine_object, SearchEngine& engine, const SearchOptions& options,
                                 nb::object losses, int64_t most, nb::object vectorizer)
    : engine_object_(std::move(engine_object)),
      losses_object_(std::move(losses)),
      vectorizer_object_(vectorizer),
      engine_(engine),
      options_(options),
      most_(most) {
  if (!vectorizer.is_none()) vectorizer_ = &nb::cast<const NativeVectorizer&>(vectorizer).vectorizer;
  nb::module_ numpy = nb::module_::import_("numpy");
  empty_ = numpy.attr("empty");
  int64_ = numpy.attr("dtype")("int64");
  float32_ = numpy.attr("dtype")("float32");
}

// From the string to the labels without Python in between.
int64_t NativePredictor::search_text(nb::handle text, const SearchOptions& options, int64_t* labels,
                                     float* scores) const {
  TextView view = utf8_of(text, "the text");
  nb::gil_scoped_release release;
  TextVectorizer::Scratches::Borrowed scratch(vectorizer_->scratches());
  vectorizer_->one_row(view, *scratch);
  auto n = static_cast<int64_t>(scratch->row.size());
  check_finite(scratch->weights.data(), n);  // a damaged idf
  return engine_.search_one(scratch->row.data(), scratch->weights.data(), n, options, labels, scores);
}

nb::tuple NativePredictor::operator()(nb::handle first, nb::handle second, nb::handle k) const {
  bool text = PyUnicode_Check(first.ptr());
  if (text) {
    if (vectorizer_ == nullptr) throw BadQuery("the model has no vectorizer: it takes features, not texts");
    if (!second.is_none()) {
      if (!k.is_none()) throw BadQuery("a text has no values");
      k = second;
      second = nb::none();
    }
  }
  SearchOptions options = options_;
  if (!k.is_none()) {
    long long wanted = PyLong_Check(k.ptr()) ? PyLong_AsLongLong(k.ptr()) : -1;
    if (wanted < 1) {
      PyErr_Clear();
      throw BadQuery("k must be an integer of at least 1");
    }
    options.k = wanted;
  }
  // No label can be returned twice, so a longer list than there are labels is never filled.
  options.k = std::min<int64_t>(options.k, std::max(engine_.n_labels(), 1));
  const int64_t wanted = options.k;
  if (most_ > 0) {
    if (wanted > most_)
      throw BadQuery("k must be at most " + std::to_string(most_) + ", what this predictor was made for");
    options.k = most_;
  }

  nb::object indices_object, values_object;
  bool sparse = !second.is_none();
  if (text) {
    // nothing to look at yet
  } else if (sparse) {
    indices_object = nb::borrow(first);
    values_object = nb::borrow(second);
  } else if (nb::hasattr(first, "indptr")) {
    indices_object = first.attr("indices");
    values_object = first.attr("data");
    if (nb::len(nb::object(first.attr("indptr"))) != 2) throw BadQuery("a sparse query must be one CSR row");
    sparse = true;
  } else {
    values_object = nb::borrow(first);
  }

  nb::object labels_object = empty_(options.k, int64_), scores_object = empty_(options.k, float32_);
  int64_t found = 0;
  if (text) {
    Buffer labels(labels_object, "labels"), scores(scores_object, "scores");
    found = search_text(first, options, labels.data<int64_t>(), scores.data<float>());
  } else {
    Buffer values_buffer(values_object, "values");
    Buffer labels(labels_object, "labels"), scores(scores_object, "scores");
    std::vector<float> values_copy;
    const float* values = as_type<float, double>(values_buffer, 'f', "values", "float32 or float64", values_copy);
    check_finite(values, values_buffer.size());
    if (sparse) {
      Buffer indices_buffer(indices_object, "indices");
      std::vector<int32_t> indices_copy;
      const int32_t* indices =
          as_type<int32_t, int64_t>(indices_buffer, 'i', "indices", "int32 or int64", indices_copy);
      int64_t n = indices_buffer.size();
      if (n != values_buffer.size()) throw BadQuery("indices and values must be equally long");
      uint32_t bad = 0;
      for (int64_t i = 0; i < n; ++i) bad |= static_cast<uint32_t>(indices[i]) >= engine_.n_features();
      if (bad) throw BadQuery("indices must be in [0, " + std::to_string(engine_.n_features()) + ")");
      nb::gil_scoped_release release;
      found = engine_.search_one(indices, values, n, options, labels.data<int64_t>(), scores.data<float>());
    } else {
      if (values_buffer.size() != engine_.n_features())
        throw BadQuery("a dense query must have " + std::to_string(engine_.n_features()) + " values");
      nb::gil_scoped_release release;
      found = engine_.search_one_dense(values, options, labels.data<int64_t>(), scores.data<float>());
    }
  }
  found = std::min(found, wanted);
  if (found < options.k) {
    nb::slice filled(nb::int_(0), nb::int_(found), nb::none());
    labels_object = labels_object[filled];
    scores_object = scores_object[filled];
  }
  return nb::make_tuple(labels_object, scores_object);
}

}  // namespace labeltrees
