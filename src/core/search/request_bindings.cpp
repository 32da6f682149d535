// The bindings of search requests: numbers, rows of a batch, labels to allow or to exclude.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "common/bindings.hpp"
#include "encode/encoder.hpp"
#include "search/bindings.hpp"
#include "search/predictor.hpp"

namespace labeltrees::search {

namespace {

class LabelReader {
 public:
  LabelReader(const char* name, int64_t n_labels, const encode::NameTable* names, LabelArgument& labels)
      : name_(name), n_labels_(n_labels), names_(names), labels_(labels) {}

  void add_id(int64_t id) {
    if (id < 0 || id >= n_labels_)
      throw BadQuery(name_ + " must hold label ids in [0, " + std::to_string(n_labels_) + "), got " +
                     std::to_string(id));
    labels_.ids.push_back(static_cast<int32_t>(id));
  }

  void add(nb::handle label) {
    PyObject* object = label.ptr();
    if (PyUnicode_Check(object)) return add_name(object);
    nb::object index = PyBool_Check(object) ? nb::object() : nb::steal(PyNumber_Index(object));
    int overflow = 0;
    const long long id = index.is_valid() ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
    if (!index.is_valid()) {
      PyErr_Clear();
      throw BadQuery(name_ + " must hold label names or ids, got " + encode::shown(label));
    }
    add_id(overflow ? -1 : id);
  }

  // Adds the ids of an array of signed integers. Returns whether it is one that can be read without a conversion.
  bool add_array(nb::handle object) {
    if (!PyObject_CheckBuffer(object.ptr()) || PyBytes_Check(object.ptr())) return false;
    Py_buffer view;
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
      PyErr_Clear();
      return false;
    }
    const char* format = view.format ? view.format : "B";
    const bool fits = view.ndim == 1 && (view.itemsize == 4 || view.itemsize == 8) && *format &&
                      std::strchr("ilq", *format) && !format[1];
    std::vector<int64_t> ids(fits ? static_cast<size_t>(view.shape[0]) : 0);
    const auto* at = static_cast<const char*>(view.buf);
    for (int64_t& id : ids) {
      int32_t narrow;
      std::memcpy(&narrow, at, sizeof narrow);  // may be unaligned
      id = narrow;
      if (view.itemsize == 8) std::memcpy(&id, at, sizeof id);
      at += view.itemsize;
    }
    PyBuffer_Release(&view);
    for (int64_t id : ids) add_id(id);
    return fits;
  }

 private:
  void add_name(PyObject* object) {
    if (!names_) throw BadQuery(name_ + " must hold label ids: the labels of this model have no names");
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(object, &size);
    if (bytes == nullptr) PyErr_Clear();  // half of a surrogate pair, which no name has
    const int32_t id = bytes ? names_->find({bytes, static_cast<size_t>(size)}, padded_) : -1;
    if (id < 0) {
      if (labels_.n_unknown++ == 0) labels_.unknown = nb::borrow(object);
    } else
      add_id(id);
  }

  std::string name_;
  int64_t n_labels_;
  const encode::NameTable* names_;
  LabelArgument& labels_;
  std::vector<uint8_t> padded_;
};

}  // namespace

void refuse_unknown(const char* name, const LabelArgument& labels, const encode::NameTable* names) {
  if (labels.n_unknown == 0) return;
  constexpr int64_t kMostCompared = 20'000;
  nb::list known;
  for (int64_t i = 0; i < std::min(names->size(), kMostCompared); ++i) known.append(encode::name_object(*names, i));
  nb::object hint = nb::module_::import_("labeltrees._names").attr("did_you_mean")(labels.unknown, known);
  throw BadQuery(std::string(name) + " must be names of labels that the model knows, got " +
                 encode::shown(labels.unknown) + nb::cast<std::string>(hint) +
                 " (label_set leaves out names that the model does not know)");
}

void read_labels(nb::handle object, const char* name, const void* owner, int64_t n_labels,
                 const encode::NameTable* names, LabelArgument& labels) {
  if (object.is_none()) return;
  labels.given = true;
  NativeLabelSet* prepared;
  if (nb::try_cast(object, prepared, false)) {
    if (prepared->set->owner != owner)
      throw BadQuery(std::string(name) + " is a label set of another model; make it with label_set of this one");
    labels.set = prepared->set.get();
    return;
  }
  LabelReader reader(name, n_labels, names, labels);
  if (reader.add_array(object)) return;
  nb::object list;
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()))
    list = nb::borrow(object);
  else if (PyAnySet_Check(object.ptr()))
    list = nb::steal(PySequence_List(object.ptr()));
  else if (!PyUnicode_Check(object.ptr()) && nb::hasattr(object, "tolist"))
    list = nb::object(object.attr("tolist"))();
  if (!list.is_valid() || !(PyList_Check(list.ptr()) || PyTuple_Check(list.ptr())))
    throw BadQuery(std::string(name) + " must be a list of labels or a label set, got " + encode::shown(object));
  // The __index__ of a label can be Python code that changes the list.
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
  for (Py_ssize_t i = 0; i < n && i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
    nb::object label = item_of(list, i);
    reader.add(label);
  }
}

void read_weights(nb::handle object, const void* owner, int64_t n_labels, const encode::NameTable* names, bool logs,
                  WeightArgument& weights) {
  if (object.is_none()) return;
  weights.given = true;
  NativeLabelWeights* prepared;
  if (nb::try_cast(object, prepared, false)) {
    if (prepared->weights->owner != owner)
      throw BadQuery("label_weight was prepared for another model; make it with label_weights of this one");
    weights.prepared = prepared->weights.get();
    return;
  }
  if (!PyDict_Check(object.ptr()))
    throw BadQuery(
        "label_weight of a call must be a dict from labels to numbers, or prepared with label_weights, got " +
        encode::shown(object));
  LabelArgument labels;
  LabelReader reader("label_weight", n_labels, names, labels);
  // A new list: the __float__ and __index__ of its entries can be Python code that changes the dict.
  nb::object items = nb::steal(PyDict_Items(object.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  for (nb::handle item : nb::borrow<nb::list>(items)) {
    nb::handle label(PyTuple_GET_ITEM(item.ptr(), 0)), value(PyTuple_GET_ITEM(item.ptr(), 1));
    const double weight = PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()) ? PyFloat_AsDouble(value.ptr()) : -1;
    PyErr_Clear();
    if (PyBool_Check(value.ptr()) || !(weight >= 0 && weight <= 1e30))
      throw BadQuery("label_weight must hold numbers in [0, 1e+30], got " + encode::shown(value));
    reader.add(label);
    if (labels.ids.size() == weights.weights.size()) continue;  // an unknown name
    weights.weights.push_back(static_cast<float>(logs ? std::log(weight) : weight));
  }
  refuse_unknown("label_weight", labels, names);
  weights.labels = std::move(labels.ids);
}

namespace {

template <class T>
using Optional = std::optional<ConstArray<T>>;

// The data of an array, which is kept alive in `arrays`; null for None.
template <class T>
const T* keep(const Optional<T>& array, std::vector<nb::object>& arrays) {
  if (!array) return nullptr;
  arrays.push_back(nb::find(*array));
  return array->data();
}

LabelLists label_lists(const Optional<int64_t>& indptr, const Optional<int32_t>& labels,
                       std::vector<nb::object>& arrays) {
  static const int32_t empty = 0;
  if (!labels) return {};
  const int32_t* data = keep(labels, arrays);
  auto n = static_cast<int64_t>(labels->size());
  return {keep(indptr, arrays), n ? data : &empty, n};  // an empty list is a list, so its pointer must not be null
}

const LabelSet* keep_set(const nb::object& set, std::vector<nb::object>& kept) {
  if (set.is_none()) return nullptr;
  kept.push_back(set);
  return nb::cast<const NativeLabelSet&>(set).set.get();
}

// settings: the Python SearchRequest, which is read once. k, n_candidates and evidence: their values for this model.
// The other arguments are its labels and discounts in native form.
void make_request(NativeRequest* self, nb::handle settings, int64_t k, int64_t n_candidates, bool evidence,
                  Optional<float> discounts, Optional<int64_t> candidate_ptr, Optional<int32_t> candidates,
                  Optional<int64_t> exclude_ptr, Optional<int32_t> exclude, Object<NativeLabelSet> candidate_set,
                  Object<NativeLabelSet> exclude_set, Object<NativeLabelWeights> weights, Optional<int32_t> boosted,
                  Optional<float> boosts, Object<NativeGroupLimits> limits, Object<Calibration> calibration) {
  SearchRequest request;
  each_limit([&](const char* name, auto member) {
    if (!PyUnicode_Check(nb::object(settings.attr(name)).ptr()))  // a beam "as fitted" has not been completed: no limit
      request.*member = read_field<int64_t>(settings, name, 0);
  });
  request.max_microseconds = std::min(request.max_microseconds, int64_t{1} << 50);  // the clock counts nanoseconds
  request.k = k;
  request.n_candidates = n_candidates;
  request.evidence = evidence;
  const auto search = read_field<std::string>(settings, "search", "best_first");
  request.mode = search == "paths" ? SearchMode::paths : SearchMode::best_first;
  new (self) NativeRequest();
  request.discounts = keep(discounts, self->arrays);
  request.candidates = label_lists(candidate_ptr, candidates, self->arrays);
  request.exclude = label_lists(exclude_ptr, exclude, self->arrays);
  request.candidate_set = keep_set(candidate_set, self->arrays);
  request.exclude_set = keep_set(exclude_set, self->arrays);
  if (!weights.is_none()) {
    self->arrays.push_back(weights);
    request.weights = nb::cast<const NativeLabelWeights&>(weights).weights.get();
  }
  if (boosted && boosts) {
    const LabelLists labels = label_lists(std::nullopt, boosted, self->arrays);
    request.boosts = {labels.labels, keep(boosts, self->arrays), labels.n};
  }
  if (!limits.is_none()) {
    self->arrays.push_back(limits);
    request.limits = &nb::cast<const NativeGroupLimits&>(limits).limits;
  }
  if (!calibration.is_none()) {
    self->arrays.push_back(calibration);
    request.calibration = &nb::cast<const Calibration&>(calibration);
  }
  request.set_threshold(read_field<float>(settings, "threshold", 0.0f));
  request.diversity = read_field<float>(settings, "diversity", 0.0f);
  request.keep_beam = read_field<bool>(settings, "keep_beam", false);
  self->request = request;
}

// group_of: a group per label, or -1. most: per group, at least 0.
void make_limits(NativeGroupLimits* self, ConstArray<int32_t> group_of, ConstArray<int32_t> most) {
  const auto n_groups = static_cast<int32_t>(most.size());
  for (size_t i = 0; i < group_of.size(); ++i)
    if (group_of.data()[i] < -1 || group_of.data()[i] >= n_groups)
      throw std::invalid_argument("group_of must hold the number of a group, or -1, for each label");
  if (std::any_of(most.data(), most.data() + most.size(), [](int32_t n) { return n < 0; }))
    throw std::invalid_argument("the maximum number of labels of a group must be at least 0");
  new (self) NativeGroupLimits{
      {{group_of.data(), group_of.data() + group_of.size()}, {most.data(), most.data() + most.size()}}};
}

void make_calibration(Calibration* self, ConstArray<double> scores, ConstArray<double> probabilities) {
  if (scores.size() == 0 || scores.size() != probabilities.size())
    throw std::invalid_argument("a calibration needs as many probabilities as scores, at least one");
  for (const auto& values : {scores, probabilities})
    for (size_t i = 0; i < values.size(); ++i)
      if (!(values.data()[i] >= (i ? values.data()[i - 1] : 0.0) && std::isfinite(values.data()[i])))
        throw std::invalid_argument("scores and probabilities of a calibration must be finite, >= 0 and sorted");
  new (self) Calibration({scores.data(), scores.data() + scores.size()},
                         {probabilities.data(), probabilities.data() + probabilities.size()});
}

void make_rows(NativeRows* self, int64_t n, Optional<int64_t> indptr, Optional<int32_t> features,
               ConstArray<float> values) {
  new (self) NativeRows();
  self->arrays.push_back(nb::find(values));
  self->rows = {n, keep(indptr, self->arrays), keep(features, self->arrays), values.data()};
}

void bind_label_set(nb::module_& module) {
  nb::class_<NativeLabelSet>(module, "LabelSet",
                             "Labels prepared for many searches, to allow or to exclude; made by `label_set`.")
      .def("__len__", [](const NativeLabelSet& self) { return self.set->n; })
      .def(
          "__contains__",
          [](const NativeLabelSet& self, int64_t label) {
            return label >= 0 && label / 64 < static_cast<int64_t>(self.set->labels.size()) &&
                   has_bit(self.set->labels.data(), static_cast<int32_t>(label));
          },
          nb::arg("label"))
      .def("__repr__",
           [](const NativeLabelSet& self) {
             return "LabelSet(" + std::to_string(self.set->n) + " labels, " + std::to_string(self.n_unknown) +
                    " unknown names)";
           })
      .def(
          "belongs_to", [](const NativeLabelSet& self, nb::handle engine) { return self.engine.is(engine); },
          nb::arg("engine"))
      .def_prop_ro("nbytes", [](const NativeLabelSet& self) { return self.set->bytes(); })
      .def_ro("n_unknown", &NativeLabelSet::n_unknown);
}

}  // namespace

void bind_search_request(nb::module_& module) {
  bind_label_set(module);
  nb::class_<NativeLabelWeights>(module, "LabelWeights",
                                 "Weights of labels prepared for many searches; made by `label_weights`.")
      .def("__repr__", [](const NativeLabelWeights&) { return "LabelWeights(prepared for many searches)"; })
      .def(
          "belongs_to", [](const NativeLabelWeights& self, nb::handle engine) { return self.engine.is(engine); },
          nb::arg("engine"));

  nb::class_<NativeGroupLimits>(module, "LabelLimits",
                                "Groups of labels with the maximum number of labels of each; made by `label_limits`.")
      .def("__init__", &make_limits, nb::arg("group_of").noconvert(), nb::arg("most").noconvert())
      .def("__len__", [](const NativeGroupLimits& self) { return self.limits.most.size(); })
      .def("__repr__",
           [](const NativeGroupLimits& self) {
             return "LabelLimits(" + std::to_string(self.limits.most.size()) + " groups of " +
                    std::to_string(self.limits.group_of.size()) + " labels)";
           })
      .def_prop_ro("n_labels", [](const NativeGroupLimits& self) { return self.limits.group_of.size(); });

  nb::class_<Calibration>(module, "Calibration", "Maps scores to probabilities by a non-decreasing function.")
      .def("__init__", &make_calibration, nb::arg("scores").noconvert(), nb::arg("probabilities").noconvert())
      .def("__call__", &Calibration::operator(), nb::arg("score"))
      .def("lowest_score", &Calibration::lowest_score, nb::arg("probability"));

  nb::class_<NativeRequest>(module, "SearchRequest")
      .def("__init__", &make_request, nb::arg("settings"), nb::kw_only(), nb::arg("k"), nb::arg("n_candidates"),
           nb::arg("evidence"), nb::arg("discounts").noconvert().none(), nb::arg("candidate_ptr").noconvert().none(),
           nb::arg("candidates").noconvert().none(), nb::arg("exclude_ptr").noconvert().none(),
           nb::arg("exclude").noconvert().none(), nb::arg("candidate_set").none(), nb::arg("exclude_set").none(),
           nb::arg("weights").none(), nb::arg("boosted").noconvert().none(), nb::arg("boosts").noconvert().none(),
           nb::arg("limits").none(), nb::arg("calibration").none())
      .def_prop_ro("k", [](const NativeRequest& self) { return self.request.k; })
      .def_prop_ro("n_returned", [](const NativeRequest& self) { return self.request.n_returned(); });

  nb::class_<NativeRows>(module, "QueryRows")
      .def("__init__", &make_rows, nb::arg("n"), nb::arg("indptr").noconvert().none(),
           nb::arg("features").noconvert().none(), nb::arg("values").noconvert())
      .def_prop_ro("n", [](const NativeRows& self) { return self.rows.n; })
      .def(
          "check",
          [](const NativeRows& self, int64_t n_features, int n_threads) {
            ReleaseLock release;
            RowsCheck found = check_rows(self.rows, n_features, n_threads);
            return std::make_pair(found.sound, found.rising);
          },
          nb::arg("n_features"), nb::arg("n_threads"));
}

}  // namespace labeltrees::search
