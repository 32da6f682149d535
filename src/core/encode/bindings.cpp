// The bindings of names and encoders.
#include "common/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "encode/encoders.hpp"

namespace labeltrees::encode {

namespace {

constexpr int64_t kContextsPerSignalCheck = 4096;

// (values, features, bounds of the rows, unknown items and words per context) of a list or tuple.
Tuple<NumPy<float>, NumPy<int32_t>, NumPy<int64_t>, NumPy<int64_t>> transform(const ContextEncoder& encoder,
                                                                              nb::handle contexts) {
  GrowingArray<float> values;
  GrowingArray<int32_t> features;
  std::vector<int64_t> indptr = {0}, unknown;
  EncodeScratch scratch;
  const PartPlace place;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(contexts.ptr()); ++i) {
    if (i % kContextsPerSignalCheck == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    nb::object context = item_of(contexts, i);
    scratch.start(encoder.n_parts(), i);
    encoder.read(context, place, scratch);
    encoder.finish(place, scratch);
    features.append(scratch.features.data(), static_cast<int64_t>(scratch.features.size()));
    values.append(scratch.values.data(), static_cast<int64_t>(scratch.values.size()));
    indptr.push_back(features.size());
    unknown.push_back(scratch.n_unknown);
  }
  return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(features)), to_numpy(std::move(indptr)),
                        to_numpy(std::move(unknown)));
}

void make_items(ItemEncoder* self, nb::handle_t<NativeNames> names, Object<NativeNames> ids,
                const std::string& weighting, const std::string& norm, std::optional<std::string> separator,
                bool is_column, std::string takes) {
  ItemOptions options;
  options.weighting = weighting == "log"     ? ItemWeighting::log
                      : weighting == "count" ? ItemWeighting::count
                                             : ItemWeighting::binary;
  options.norm = norm == "l2" ? RowNorm::l2 : norm == "l1" ? RowNorm::l1 : RowNorm::none;
  options.separator = std::move(separator);
  options.is_column = is_column;
  new (self) ItemEncoder(nb::borrow(names), std::move(ids), std::move(options), std::move(takes));
}

// For each name of `others` its number in `names`, or -1.
auto find_all(const NativeNames& names, const NativeNames& others) {
  std::vector<int32_t> found(static_cast<size_t>(others.table.size()));
  {
    ReleaseLock release;
    std::vector<uint8_t> padded;
    for (int64_t i = 0; i < others.table.size(); ++i) found[i] = names.table.find(others.table.name(i), padded);
  }
  return to_numpy(std::move(found));
}

}  // namespace

void bind_encode(nb::module_& module) {
  nb::class_<NativeNames>(module, "Names")
      .def(nb::init<ConstArray<uint8_t>, ConstArray<int64_t>, std::string>(), nb::arg("text").noconvert(),
           nb::arg("ends").noconvert(), nb::arg("source"))
      .def("__len__", [](const NativeNames& names) { return names.table.size(); })
      .def("find_all", &find_all, nb::arg("others"));

  nb::class_<ContextEncoder>(module, "Encoder")
      .def_prop_ro("n_features", &ContextEncoder::n_features)
      .def("transform", &transform, nb::arg("contexts"));
  nb::class_<ItemEncoder, ContextEncoder>(module, "ItemEncoder")
      .def("__init__", &make_items, nb::arg("names"), nb::arg("ids").none(), nb::arg("weighting"), nb::arg("norm"),
           nb::arg("separator").none(), nb::arg("is_column"), nb::arg("takes"));
  nb::class_<TextEncoder, ContextEncoder>(module, "TextEncoder")
      .def(nb::init<Object<tfidf::NativeUnion>, bool, std::string>(), nb::arg("vectorizers"), nb::arg("takes_tokens"),
           nb::arg("takes"));
  nb::class_<UnionEncoder, ContextEncoder>(module, "UnionEncoder")
      .def(nb::init<List<nb::str>, List<ContextEncoder>, List<float>, std::string>(), nb::arg("keys"), nb::arg("parts"),
           nb::arg("weights"), nb::arg("takes"));
}

}  // namespace labeltrees::encode
