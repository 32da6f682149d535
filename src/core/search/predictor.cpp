#include "search/predictor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace labeltrees::search {

SingleAnswer::SingleAnswer(nb::object engine, const void* owner, nb::object request, int64_t k, int64_t n_labels,
                           nb::object names, bool with_names, bool logs)
    : engine_(std::move(engine)),
      request_object_(std::move(request)),
      names_object_(names),
      owner_(owner),
      request_(nb::cast<const NativeRequest&>(request_object_).request),
      k_(k),
      n_labels_(std::max<int64_t>(n_labels, 1)),
      with_names_(with_names),
      logs_(logs) {
  if (!names.is_none()) names_ = &nb::cast<const encode::NativeNames&>(names).table;
  nb::module_ numpy = nb::module_::import_("numpy");
  empty_ = numpy.attr("empty");
  int64_ = numpy.attr("dtype")("int64");
  float32_ = numpy.attr("dtype")("float32");
}

int64_t SingleAnswer::returned(nb::handle k_given) const {
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

namespace {

// Rounds to six significant digits, so that the decimal form is short. Powers of ten up to 1e22 are exact, so that the
// division gives the double nearest to that decimal. This is faster than printing.
double six_digits(double value) {
  if (!(value > 1e-16 && value < 1e5)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return std::strtod(text, nullptr);
  }
  double scale = 10;
  while (value * scale < 1e5) scale *= 10;
  return std::round(value * scale) / scale;
}

}  // namespace

nb::list SingleAnswer::label_list(const int64_t* labels, int64_t n) const {
  nb::list found;
  for (int64_t i = 0; i < n; ++i)
    found.append(with_names_ ? encode::name_object(*names_, labels[i]) : nb::int_(labels[i]));
  return found;
}

nb::list SingleAnswer::score_list(const float* scores, int64_t n) {
  nb::list found;
  for (int64_t i = 0; i < n; ++i) found.append(nb::float_(six_digits(scores[i])));
  return found;
}

SingleAnswer::Call::Call(const SingleAnswer& self, const CallOptions& options, const SeenList* seen)
    : request(self.request_), k(self.returned(options.k)) {
  read_labels(options.exclude, "exclude", self.owner_, self.n_labels_, self.names_, exclude);
  read_labels(options.candidates, "candidates", self.owner_, self.n_labels_, self.names_, candidates);
  refuse_unknown("exclude", exclude, self.names_);
  refuse_unknown("candidates", candidates, self.names_);
  request.candidates = candidates.list();
  request.candidate_set = candidates.set;
  request.exclude_set = exclude.set;
  if (exclude.set) exclude.given = false;  // from here on, `exclude` is only the list beside the set
  exclude.set = nullptr;
  if (seen && !seen->empty()) {
    exclude.given = true;
    exclude.ids.insert(exclude.ids.end(), seen->begin(), seen->end());
  }
  request.exclude = exclude.list();
  set_rules(self, options);
  // Rules make a search exact, unless the caller has asked for a beam.
  if (!request.keep_beam && request.has_rules()) {
    request.beam = 0;
    request.mode = SearchMode::best_first;
  }
  if (request.selects() || request.has_weights()) request.discounts = nullptr;  // as in complete_request
  if (!request.discounts) {
    request.k = k;
    return;
  }
  // Discounts are valid only for searches among all labels. If few labels are excluded, the search finds them too, and
  // they are dropped from the list. Otherwise the search is exact. It is also exact if labels are excluded with
  // evidence, which needs a full list of labels that are not excluded.
  const auto n_excluded = static_cast<int64_t>(exclude.ids.size());
  const bool fits = n_excluded == 0 || (!request.evidence && k + n_excluded <= request.k);
  if (!candidates.given && !request.exclude_set && fits) {
    drop_later = n_excluded > 0;
    request.exclude = {};
    return;
  }
  if (candidates.given || request.exclude_set || n_excluded > 0) {
    request.discounts = nullptr;
    request.k = k;
  }
}

namespace {

float share_of(nb::handle given, const char* name, double highest) {
  const bool is_number = (PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr())) && !PyBool_Check(given.ptr());
  const double value = is_number ? PyFloat_AsDouble(given.ptr()) : -1;
  PyErr_Clear();
  if (!(value >= 0 && value <= highest))
    throw BadQuery(std::string(name) + (highest > 1 ? " must be a number of at least 0" : " must be in [0, 1]") +
                   ", got " + encode::shown(given));
  return static_cast<float>(value);
}

}  // namespace

void SingleAnswer::Call::set_rules(const SingleAnswer& self, const CallOptions& options) {
  if (!options.label_weight.is_none()) {
    if (request.calibration) {  // weighted scores are not probabilities
      request.calibration = nullptr;
      request.set_threshold(request.returned_threshold);
    }
    read_weights(options.label_weight, self.owner_, self.n_labels_, self.names_, self.logs_, weights);
    if (weights.prepared) {
      request.weights = weights.prepared;
      request.boosts = {};
    } else {
      request.boosts = weights.boosts();
    }
  }
  if (!options.limits.is_none()) {
    NativeGroupLimits* limits;
    if (!nb::try_cast(options.limits, limits, false))
      throw BadQuery("limits of a call must be prepared with label_limits of the model, got " +
                     encode::shown(options.limits));
    if (static_cast<int64_t>(limits->limits.group_of.size()) != self.n_labels_)
      throw BadQuery("limits must be prepared for a model with " + std::to_string(self.n_labels_) + " labels");
    request.limits = &limits->limits;
  }
  if (!options.threshold.is_none()) request.set_threshold(share_of(options.threshold, "threshold", 1e30));
  if (!options.diversity.is_none()) request.diversity = share_of(options.diversity, "diversity", 1.0);
}

int64_t SingleAnswer::Call::drop_excluded(int64_t* labels, float* scores, int64_t found) const {
  if (!drop_later) return found;
  int64_t kept = 0;
  for (int64_t i = 0; i < found; ++i) {
    if (std::find(exclude.ids.begin(), exclude.ids.end(), labels[i]) != exclude.ids.end()) continue;
    labels[kept] = labels[i];
    scores[kept++] = scores[i];
  }
  return kept;
}

namespace {

// Whether an array has numbers of a kind ('i' or 'f') and size, in the byte order of this machine.
bool holds(const ArrayBuffer& array, char kind, size_t bytes) {
  const char* format = array.format();
  if (*format == '=' || *format == '<' || *format == '@') ++format;
  bool matches = kind == 'i' ? std::strchr("ilq", *format) != nullptr : *format == 'f' || *format == 'd';
  return matches && format[0] && !format[1] && array.item_bytes() == static_cast<int64_t>(bytes);
}

// The indices (int32_t) or values (float) of a query, from an array or a list of numbers. They are always copied: code
// of the caller runs after this, in other arguments and in other threads, and can change or free the original.
template <class T>
class Numbers {
 public:
  Numbers(nb::handle object, const char* name) : name_(name) {
    if (PyList_Check(object.ptr()))
      read_list(object.ptr());
    else
      read_array(object);
  }
  Numbers(const Numbers&) = delete;
  const T* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  static constexpr size_t kFew = 256;  // most queries need no allocation
  static constexpr bool is_index = std::is_integral_v<T>;
  using Wide = std::conditional_t<is_index, int64_t, double>;

  void read_array(nb::handle object) {
    constexpr char kind = is_index ? 'i' : 'f';
    const ArrayBuffer array(object, name_);
    const auto n = static_cast<size_t>(array.size());
    T* out = reserve(n);
    size_ = array.size();
    if (holds(array, kind, sizeof(T))) {
      if (n > 0) std::memcpy(out, array.data<const char>(), n * sizeof(T));
      return;
    }
    if (!holds(array, kind, sizeof(Wide)))
      throw BadQuery(std::string(name_) + " must be " + (is_index ? "int32 or int64" : "float32 or float64") +
                     " in the byte order of this machine");
    for (size_t i = 0; i < n; ++i) {
      Wide value;
      std::memcpy(&value, array.data<const char>() + i * sizeof(Wide), sizeof(Wide));  // may be unaligned
      out[i] = narrow(value);
    }
  }

  // A number's __float__ can be Python code that shortens the list or makes it longer.
  void read_list(PyObject* list) {
    const Py_ssize_t n = PyList_Size(list);
    T* out = reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n && i < PyList_Size(list); ++i) {
      nb::object item = item_of(list, i);
      Wide value;
      if constexpr (is_index)
        value = PyLong_Check(item.ptr()) ? PyLong_AsLongLong(item.ptr()) : -1;
      else
        value = PyFloat_Check(item.ptr()) || PyLong_Check(item.ptr()) ? PyFloat_AsDouble(item.ptr()) : std::nan("");
      if (PyErr_Occurred()) {  // too large
        PyErr_Clear();
        value = is_index ? Wide(-1) : static_cast<Wide>(std::nan(""));
      }
      out[size_++] = narrow(value);
    }
  }

  T narrow(Wide value) const {
    if constexpr (is_index) {
      const auto narrowed = static_cast<T>(value);
      if (narrowed != value) throw BadQuery(std::string(name_) + " must be below n_features");
      return narrowed;
    } else {
      if (!(std::abs(value) <= std::numeric_limits<T>::max())) throw BadQuery(std::string(name_) + " must be finite");
      return static_cast<T>(value);
    }
  }

  T* reserve(size_t n) {
    if (n > kFew) {
      many_.resize(n);
      data_ = many_.data();
    }
    return data_;
  }

  const char* name_;
  T few_[kFew];
  std::vector<T> many_;
  T* data_ = few_;
  int64_t size_ = 0;
};

void check_finite(const float* values, int64_t n) {
  if (!all_finite(values, n)) throw BadQuery("values must be finite");
}

// Whether a number of at least 0 occurs twice. A hash table takes a tenth of the time of sorting.
bool has_repeats(const int32_t* numbers, int64_t n) {
  constexpr size_t kFew = 1024;
  int32_t few[kFew];
  std::vector<int32_t> many;
  const size_t size = std::bit_ceil(static_cast<size_t>(4 * n));
  int32_t* table = few;
  if (size > kFew) {
    many.resize(size);
    table = many.data();
  }
  std::fill(table, table + size, -1);
  for (int64_t i = 0; i < n; ++i) {
    size_t place = (static_cast<uint64_t>(numbers[i]) * 0x9E3779B97F4A7C15u >> 32) & (size - 1);
    for (; table[place] >= 0; place = (place + 1) & (size - 1))
      if (table[place] == numbers[i]) return true;
    table[place] = numbers[i];
  }
  return false;
}

// A row with rising indices, as rows of a batch have them: values of the same index are added, in the order given.
struct SummedRow {
  std::vector<int32_t> indices;
  std::vector<float> values;

  void set(const int32_t* given, const float* of_given, int64_t n) {
    std::vector<uint64_t> order(static_cast<size_t>(n));  // index and place in one integer, which sorts faster
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<uint64_t>(given[i]) << 32 | static_cast<uint32_t>(i);
    std::sort(order.begin(), order.end());
    indices.reserve(order.size());
    values.reserve(order.size());
    for (uint64_t own : order) {
      const auto index = static_cast<int32_t>(own >> 32);
      const float value = of_given[static_cast<uint32_t>(own)];
      if (!indices.empty() && indices.back() == index) {
        values.back() += value;
      } else {
        indices.push_back(index);
        values.push_back(value);
      }
    }
  }
};

// The values of a query, checked.
struct QueryValues : Numbers<float> {
  explicit QueryValues(nb::handle object) : Numbers(object, "values") { check_finite(data(), size()); }
};

}  // namespace

NativePredictor::NativePredictor(Object<NativeEngine> engine, Object<NativeRequest> request, int64_t k,
                                 Object<encode::ContextEncoder> encoder, Object<encode::NativeNames> names,
                                 bool with_names, Object<ConstArray<int32_t>> label_of_feature)
    : engine_(nb::cast<NativeEngine&>(engine).engine),
      answer_(engine, &engine_, std::move(request), k, engine_.n_labels(), std::move(names), with_names, true),
      encoder_object_(encoder),
      label_array_(label_of_feature) {
  if (!encoder.is_none()) encoder_ = &nb::cast<const encode::ContextEncoder&>(encoder);
  if (!label_of_feature.is_none()) label_of_feature_ = nb::cast<ConstArray<int32_t>>(label_of_feature, false).data();
}

// Whether the first argument is what an encoder takes, or looks like it: features are arrays or CSR rows.
bool NativePredictor::is_context(nb::handle first) const {
  PyObject* object = first.ptr();
  if (PyUnicode_Check(object)) return true;
  if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object) || PyAnySet_Check(object)) return true;
  return !PyObject_CheckBuffer(object) && !nb::hasattr(first, "indptr");
}

namespace {

// An attribute of a CSR row.
nb::object part_of(nb::handle row, const char* name) {
  nb::object part = nb::steal(PyObject_GetAttrString(row.ptr(), name));
  if (part.is_valid()) return part;
  PyErr_Clear();
  throw BadQuery("a sparse query must be one CSR row, got " + encode::shown(row));
}

}  // namespace

nb::tuple NativePredictor::answer(nb::handle first, nb::handle second, CallOptions options) const {
  const bool has_values = !second.is_none() && !PyLong_Check(second.ptr());
  if (!has_values && is_context(first)) {
    if (!second.is_none()) {
      if (!options.k.is_none()) throw BadQuery("k is given twice");
      options.k = second;
    }
    return predict_context(first, options);
  }
  if (!second.is_none()) return predict_sparse(first, second, options);
  if (!nb::hasattr(first, "indptr")) return predict_dense(first, options);
  nb::object bounds = part_of(first, "indptr"), indices = part_of(first, "indices"), values = part_of(first, "data");
  const Py_ssize_t n_bounds = PyObject_Size(bounds.ptr());
  if (n_bounds < 0) PyErr_Clear();
  if (n_bounds != 2) throw BadQuery("a sparse query must be one CSR row");
  return predict_sparse(indices, values, options);
}

void NativePredictor::refuse(nb::handle first) const {
  const std::string features =
      "(indices, values), one CSR row, or an array of " + std::to_string(engine_.n_features()) + " values";
  if (encoder_) throw BadQuery("a query must be " + encoder_->takes() + ", or features, got " + encode::shown(first));
  throw BadQuery("the model has no vectorizer or other encoder, so a query must be features: " + features + "; got " +
                 encode::shown(first) + ". Fit on texts, or on a Dataset with an encoder, to ask with texts or items");
}

// Predicts the labels of a text or a list of items without Python in between.
nb::tuple NativePredictor::predict_context(nb::handle context, const CallOptions& options) const {
  if (!encoder_) refuse(context);
  ScratchPool<encode::EncodeScratch>::Borrowed scratch(scratches_);
  encode::SeenLabels seen{answer_.names(), label_of_feature_, {}};
  scratch->start(encoder_->n_parts());
  scratch->seen = label_of_feature_ ? &seen : nullptr;
  const encode::PartPlace place;
  encoder_->read(context, place, *scratch);
  scratch->seen = nullptr;
  return answer_(
      options, &seen.labels, [&](const SearchRequest& request, int64_t* labels, float* scores, SearchStats& stats) {
        ReleaseLock release;
        encoder_->finish(place, *scratch);
        if (scratch->n_unknown) n_unknown_.fetch_add(scratch->n_unknown, std::memory_order_relaxed);
        auto n = static_cast<int64_t>(scratch->features.size());
        check_finite(scratch->values.data(), n);  // a damaged idf, or counts that add up to infinity
        return engine_.search_one(scratch->features.data(), scratch->values.data(), n, request, labels, scores, stats);
      });
}

// Adds the label that is the same item as a feature of the query, if there is one.
void NativePredictor::add_seen(int64_t feature, float value, SeenList& seen) const {
  const int32_t label = label_of_feature_[feature];
  if (value != 0 && label >= 0) seen.push_back(label);
}

nb::tuple NativePredictor::predict_sparse(nb::handle indices_object, nb::handle values_object,
                                          const CallOptions& options) const {
  const QueryValues given_values(values_object);
  const Numbers<int32_t> given(indices_object, "indices");
  if (given.size() != given_values.size()) throw BadQuery("indices and values must have the same length");
  const int32_t* indices = given.data();
  const float* values = given_values.data();
  int64_t n = given.size();
  const auto n_features = static_cast<uint32_t>(engine_.n_features());
  uint32_t bad = 0, falls = 0;
  int32_t previous = -1;
  for (int64_t i = 0; i < n; ++i) {
    bad |= static_cast<uint32_t>(indices[i]) >= n_features;
    falls |= indices[i] <= previous;
    previous = indices[i];
  }
  if (bad) throw BadQuery("indices must be in [0, " + std::to_string(n_features) + ")");
  SummedRow summed;
  if (falls && has_repeats(indices, n)) {
    summed.set(indices, values, n);
    indices = summed.indices.data();
    values = summed.values.data();
    n = static_cast<int64_t>(summed.indices.size());
    check_finite(values, n);
  }
  SeenList seen;
  for (int64_t i = 0; label_of_feature_ && i < n; ++i) add_seen(indices[i], values[i], seen);
  return answer_(options, &seen, [&](const SearchRequest& request, int64_t* labels, float* scores, SearchStats& stats) {
    ReleaseLock release;
    return engine_.search_one(indices, values, n, request, labels, scores, stats);
  });
}

nb::tuple NativePredictor::predict_dense(nb::handle row, const CallOptions& options) const {
  const QueryValues values(row);
  if (values.size() != engine_.n_features())
    throw BadQuery("a dense query must have " + std::to_string(engine_.n_features()) + " values");
  SeenList seen;
  for (int64_t i = 0; label_of_feature_ && i < values.size(); ++i) add_seen(i, values.data()[i], seen);
  return answer_(options, &seen, [&](const SearchRequest& request, int64_t* labels, float* scores, SearchStats& stats) {
    ReleaseLock release;
    return engine_.search_one_dense(values.data(), request, labels, scores, stats);
  });
}

}  // namespace labeltrees::search
