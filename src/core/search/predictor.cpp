#include "search/predictor.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace labeltrees {

namespace {

// Whether an array has numbers of a kind ('i' or 'f') and size.
bool holds(const ArrayBuffer& array, char kind, size_t bytes) {
  const char* format = array.format();
  if (*format == '=' || *format == '<' || *format == '@') ++format;
  bool matches = kind == 'i' ? std::strchr("ilq", *format) != nullptr : *format == 'f' || *format == 'd';
  return matches && format[0] && !format[1] && array.item_bytes() == static_cast<int64_t>(bytes);
}

// The array as T, without a copy if it already is one.
template <class T, class Other>
const T* as_type(const ArrayBuffer& array, char kind, const char* name, const char* allowed, std::vector<T>& copy) {
  if (holds(array, kind, sizeof(T))) return array.data<const T>();
  if (!holds(array, kind, sizeof(Other))) throw BadQuery(std::string(name) + " must be " + allowed);
  const Other* values = array.data<const Other>();
  copy.resize(static_cast<size_t>(array.size()));
  for (int64_t i = 0; i < array.size(); ++i) {
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

// The values of a query, checked; they live as long as this object.
class QueryValues {
 public:
  explicit QueryValues(nb::handle object) : array_(object, "values") {
    data_ = as_type<float, double>(array_, 'f', "values", "float32 or float64", copy_);
    check_finite(data_, size());
  }
  const float* data() const { return data_; }
  int64_t size() const { return array_.size(); }

 private:
  ArrayBuffer array_;
  std::vector<float> copy_;
  const float* data_;
};

}  // namespace

NativePredictor::NativePredictor(nb::object engine, nb::object request, int64_t k, nb::object vectorizer)
    : answer_(engine, std::move(request), k, nb::cast<NativeEngine&>(engine).engine.n_labels()),
      engine_(nb::cast<NativeEngine&>(engine).engine),
      vectorizer_object_(vectorizer) {
  if (!vectorizer.is_none()) vectorizer_ = &nb::cast<const NativeVectorizer&>(vectorizer).vectorizer;
}

nb::tuple NativePredictor::operator()(nb::handle first, nb::handle second, nb::handle k) const {
  if (PyUnicode_Check(first.ptr())) {
    if (vectorizer_ == nullptr) throw BadQuery("the model has no vectorizer: it takes features, not texts");
    if (second.is_none()) return predict_text(first, k);
    if (!k.is_none()) throw BadQuery("a text has no values");
    return predict_text(first, second);
  }
  if (!second.is_none()) return predict_sparse(first, second, k);
  if (!nb::hasattr(first, "indptr")) return predict_dense(first, k);
  if (nb::len(nb::object(first.attr("indptr"))) != 2) throw BadQuery("a sparse query must be one CSR row");
  nb::object indices = first.attr("indices"), values = first.attr("data");
  return predict_sparse(indices, values, k);
}

// From the string to the labels without Python in between.
nb::tuple NativePredictor::predict_text(nb::handle text, nb::handle k) const {
  return answer_(k, [&](const SearchRequest& request, int64_t* labels, float* scores) {
    TextView view = utf8_of(text, "the text");
    nb::gil_scoped_release release;
    TextVectorizer::Scratches::Borrowed scratch(vectorizer_->scratches());
    vectorizer_->one_row(view, *scratch);
    auto n = static_cast<int64_t>(scratch->row.size());
    check_finite(scratch->weights.data(), n);  // a damaged idf
    return engine_.search_one(scratch->row.data(), scratch->weights.data(), n, request, labels, scores);
  });
}

nb::tuple NativePredictor::predict_sparse(nb::handle indices_object, nb::handle values_object, nb::handle k) const {
  QueryValues values(values_object);
  ArrayBuffer array(indices_object, "indices");
  std::vector<int32_t> copy;
  const int32_t* indices = as_type<int32_t, int64_t>(array, 'i', "indices", "int32 or int64", copy);
  const int64_t n = array.size();
  if (n != values.size()) throw BadQuery("indices and values must have the same length");
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= static_cast<uint32_t>(indices[i]) >= engine_.n_features();
  if (bad) throw BadQuery("indices must be in [0, " + std::to_string(engine_.n_features()) + ")");
  return answer_(k, [&](const SearchRequest& request, int64_t* labels, float* scores) {
    nb::gil_scoped_release release;
    return engine_.search_one(indices, values.data(), n, request, labels, scores);
  });
}

nb::tuple NativePredictor::predict_dense(nb::handle row, nb::handle k) const {
  QueryValues values(row);
  if (values.size() != engine_.n_features())
    throw BadQuery("a dense query must have " + std::to_string(engine_.n_features()) + " values");
  return answer_(k, [&](const SearchRequest& request, int64_t* labels, float* scores) {
    nb::gil_scoped_release release;
    return engine_.search_one_dense(values.data(), request, labels, scores);
  });
}

}  // namespace labeltrees
