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

NativePredictor::NativePredictor(nb::object engine, nb::object request, int64_t k, nb::object encoder, nb::object names,
                                 bool with_names, nb::object label_of_feature)
    : engine_(nb::cast<NativeEngine&>(engine).engine),
      answer_(engine, &engine_, std::move(request), k, engine_.n_labels(), std::move(names), with_names),
      encoder_object_(encoder),
      label_array_(label_of_feature) {
  if (!encoder.is_none()) encoder_ = &nb::cast<const ContextEncoder&>(encoder);
  if (!label_of_feature.is_none()) label_of_feature_ = nb::cast<ConstArray<int32_t>>(label_of_feature, false).data();
}

// Whether the first argument is what an encoder takes, or looks like it: features are arrays or CSR rows.
bool NativePredictor::is_context(nb::handle first) const {
  PyObject* object = first.ptr();
  if (PyUnicode_Check(object)) return true;
  if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object) || PyAnySet_Check(object)) return true;
  return !PyObject_CheckBuffer(object) && !nb::hasattr(first, "indptr");
}

nb::tuple NativePredictor::operator()(nb::handle first, nb::handle second, nb::handle k, nb::handle exclude,
                                      nb::handle candidates) const {
  CallOptions options{k, exclude, candidates};
  const bool has_values = !second.is_none() && !PyLong_Check(second.ptr());
  if (!has_values && is_context(first)) {
    if (!second.is_none()) {
      if (!k.is_none()) throw BadQuery("k is given twice");
      options.k = second;
    }
    return predict_context(first, options);
  }
  if (!second.is_none()) return predict_sparse(first, second, options);
  if (!nb::hasattr(first, "indptr")) return predict_dense(first, options);
  if (nb::len(nb::object(first.attr("indptr"))) != 2) throw BadQuery("a sparse query must be one CSR row");
  nb::object indices = first.attr("indices"), values = first.attr("data");
  return predict_sparse(indices, values, options);
}

void NativePredictor::refuse(nb::handle first) const {
  const std::string features =
      "(indices, values), one CSR row, or an array of " + std::to_string(engine_.n_features()) + " values";
  if (encoder_) throw BadQuery("a query must be " + encoder_->takes() + ", or features, got " + shown(first));
  throw BadQuery("the model has no vectorizer or other encoder, so a query must be features: " + features + "; got " +
                 shown(first) + ". Fit on texts, or on a Dataset with an encoder, to ask with texts or items");
}

// From the string or the list of items to the labels without Python in between.
nb::tuple NativePredictor::predict_context(nb::handle context, const CallOptions& options) const {
  if (!encoder_) refuse(context);
  ScratchPool<EncodeScratch>::Borrowed scratch(scratches_);
  SeenLabels seen{answer_.names(), label_of_feature_, {}};
  scratch->start(encoder_->n_parts());
  scratch->seen = label_of_feature_ ? &seen : nullptr;
  const PartPlace place;
  encoder_->read(context, place, *scratch);
  scratch->seen = nullptr;
  return answer_(
      options, &seen.labels, [&](const SearchRequest& request, int64_t* labels, float* scores, SearchStats& stats) {
        nb::gil_scoped_release release;
        encoder_->finish(place, *scratch);
        if (scratch->n_unknown) n_unknown_.fetch_add(scratch->n_unknown, std::memory_order_relaxed);
        auto n = static_cast<int64_t>(scratch->features.size());
        check_finite(scratch->values.data(), n);  // a damaged idf, or counts that add up to infinity
        return engine_.search_one(scratch->features.data(), scratch->values.data(), n, request, labels, scores, stats);
      });
}

nb::tuple NativePredictor::predict_sparse(nb::handle indices_object, nb::handle values_object,
                                          const CallOptions& options) const {
  QueryValues values(values_object);
  ArrayBuffer array(indices_object, "indices");
  std::vector<int32_t> copy;
  const int32_t* indices = as_type<int32_t, int64_t>(array, 'i', "indices", "int32 or int64", copy);
  const int64_t n = array.size();
  if (n != values.size()) throw BadQuery("indices and values must have the same length");
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= static_cast<uint32_t>(indices[i]) >= engine_.n_features();
  if (bad) throw BadQuery("indices must be in [0, " + std::to_string(engine_.n_features()) + ")");
  return answer_(options, nullptr,
                 [&](const SearchRequest& request, int64_t* labels, float* scores, SearchStats& stats) {
                   nb::gil_scoped_release release;
                   return engine_.search_one(indices, values.data(), n, request, labels, scores, stats);
                 });
}

nb::tuple NativePredictor::predict_dense(nb::handle row, const CallOptions& options) const {
  QueryValues values(row);
  if (values.size() != engine_.n_features())
    throw BadQuery("a dense query must have " + std::to_string(engine_.n_features()) + " values");
  return answer_(options, nullptr,
                 [&](const SearchRequest& request, int64_t* labels, float* scores, SearchStats& stats) {
                   nb::gil_scoped_release release;
                   return engine_.search_one_dense(values.data(), request, labels, scores, stats);
                 });
}

}  // namespace labeltrees
