#include "encode/encoders.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/bindings.hpp"

namespace labeltrees::encode {

namespace {

// The number of bytes of the white space that the text starts with; 0: none.
size_t space_at(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const uint8_t first = byte(0);
  if (first == ' ' || (first >= 9 && first <= 13)) return 1;
  if (first == 0xC2 && (byte(1) == 0x85 || byte(1) == 0xA0)) return 2;
  if (first == 0xE1 && byte(1) == 0x9A && byte(2) == 0x80) return 3;                     // U+1680
  if (first == 0xE2 && byte(1) == 0x80 && byte(2) >= 0x80 && byte(2) <= 0x8A) return 3;  // U+2000 to U+200A
  if (first == 0xE2 && byte(1) == 0x80 && (byte(2) == 0xA8 || byte(2) == 0xA9 || byte(2) == 0xAF)) return 3;
  if (first == 0xE2 && byte(1) == 0x81 && byte(2) == 0x9F) return 3;  // U+205F
  if (first == 0xE3 && byte(1) == 0x80 && byte(2) == 0x80) return 3;  // U+3000
  return 0;
}

std::string_view stripped(std::string_view text) {
  while (size_t n = space_at(text)) text.remove_prefix(n);
  for (bool found = true; found;) {
    found = false;
    for (size_t n = 1; n <= 3 && n <= text.size() && !found; ++n)
      if (space_at(text.substr(text.size() - n)) == n) {
        text.remove_suffix(n);
        found = true;
      }
  }
  return text;
}

double weight_of(double count, ItemWeighting weighting) {
  if (weighting == ItemWeighting::log) return std::log1p(count);
  return weighting == ItemWeighting::count ? count : 1.0;
}

}  // namespace

ItemEncoder::ItemEncoder(nb::object names, nb::object ids, ItemOptions options, std::string takes)
    : ContextEncoder(std::move(takes)),
      names_object_(names),
      ids_object_(ids),
      names_(&nb::cast<const NativeNames&>(names).table),
      options_(std::move(options)) {
  if (!ids.is_none()) ids_ = &nb::cast<const NativeNames&>(ids).table;
}

void ItemEncoder::read(nb::handle context, const PartPlace& place, EncodeScratch& scratch) const {
  scratch.parts[place.number].counts.clear();
  PyObject* object = context.ptr();
  if (PyList_Check(object) || PyTuple_Check(object)) return read_sequence(context, place, scratch);
  if (PyDict_Check(object)) {
    nb::object entries = nb::steal(PyDict_Items(object));
    if (!entries.is_valid()) throw nb::python_error();
    return read_sequence(entries, place, scratch);
  }
  if (PyUnicode_Check(object)) {
    if (!options_.separator) refuse(context, place, scratch);
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(object, &size);
    if (bytes == nullptr) {
      PyErr_Clear();
      throw BadQuery(context_name(place, scratch) + " is not valid Unicode");
    }
    std::string_view rest(bytes, static_cast<size_t>(size));
    for (;;) {
      const size_t end = rest.find(*options_.separator);
      read_name(rest.substr(0, end), 1.0, place, scratch);
      if (end == std::string_view::npos) return;
      rest.remove_prefix(end + options_.separator->size());
    }
  }
  // Sets, arrays and columns of tables, but not bytes or iterators that can be read only once.
  nb::object list;
  if (PyAnySet_Check(object))
    list = nb::steal(PySequence_List(object));
  else if (nb::hasattr(context, "tolist"))
    list = nb::object(context.attr("tolist"))();
  if (!list.is_valid() || !PyList_Check(list.ptr())) refuse(context, place, scratch);
  read_sequence(list, place, scratch);
}

void ItemEncoder::read_sequence(nb::handle items, const PartPlace& place, EncodeScratch& scratch) const {
  // The size is read again in every step: an item's __index__ or __float__ can be Python code that changes the list.
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
  for (Py_ssize_t i = 0; i < n && i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    nb::object entry = item_of(items, i);
    read_entry(entry, place, scratch);
  }
}

void ItemEncoder::read_entry(nb::handle entry, const PartPlace& place, EncodeScratch& scratch) const {
  PyObject* object = entry.ptr();
  const bool is_pair = (PyTuple_Check(object) || PyList_Check(object)) && PySequence_Fast_GET_SIZE(object) == 2;
  if (!is_pair) return read_item(entry, 1.0, place, scratch);
  nb::object item = item_of(object, 0);
  nb::object count = item_of(object, 1);
  read_item(item, read_count(count, place, scratch), place, scratch);
}

double ItemEncoder::read_count(nb::handle count, const PartPlace& place, const EncodeScratch& scratch) const {
  const bool is_text = PyUnicode_Check(count.ptr()) || PyBytes_Check(count.ptr());
  const double value = is_text ? -1.0 : PyFloat_AsDouble(count.ptr());
  if (PyErr_Occurred()) PyErr_Clear();
  if (!(value >= 0) || !std::isfinite(static_cast<float>(value)))
    throw BadQuery(context_name(place, scratch) +
                   " has a count that is not a finite number of at least 0: " + shown(count));
  return value;
}

void ItemEncoder::read_item(nb::handle item, double count, const PartPlace& place, EncodeScratch& scratch) const {
  PyObject* object = item.ptr();
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(object, &size);
    if (bytes != nullptr) return read_name({bytes, static_cast<size_t>(size)}, count, place, scratch);
    PyErr_Clear();  // half of a surrogate pair, which no name has
    ++scratch.n_unknown;
    return;
  }
  int overflow = 0;
  nb::object index = PyBool_Check(object) ? nb::object() : nb::steal(PyNumber_Index(object));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw BadQuery("an item of " + context_name(place, scratch) + " must be a str or an int, got " + shown(item));
  }
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) {
    ++scratch.n_unknown;
    return;
  }
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  read_name({digits, static_cast<size_t>(end - digits)}, count, place, scratch);
}

void ItemEncoder::read_name(std::string_view name, double count, const PartPlace& place, EncodeScratch& scratch) const {
  if (options_.is_column) {
    name = stripped(name);
    if (name.empty()) return;
  }
  PartScratch& part = scratch.parts[place.number];
  int32_t feature = names_->find(name, part.padded);
  if (feature < 0 && ids_) feature = ids_->find(name, part.padded);
  if (feature >= 0)
    part.counts.emplace_back(feature, count);
  else
    ++scratch.n_unknown;
  if (SeenLabels* seen = options_.is_column ? nullptr : scratch.seen) {
    int32_t label = seen->label_names->find(name, part.padded);
    if (label < 0 && feature >= 0) label = seen->label_of_feature[place.offset + feature];
    if (label >= 0) seen->labels.push_back(label);
  }
}

void ItemEncoder::finish(const PartPlace& place, EncodeScratch& scratch) const {
  auto& counts = scratch.parts[place.number].counts;
  // Stable, so that counts are added in the order given and the sum does not depend on the sort.
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t start = scratch.values.size();
  double norm = 0;
  for (size_t i = 0; i < counts.size();) {
    const int32_t feature = counts[i].first;
    double count = 0;
    for (; i < counts.size() && counts[i].first == feature; ++i) count += counts[i].second;
    const auto value = static_cast<float>(count == 0 ? 0.0 : weight_of(count, options_.weighting));
    if (value == 0) continue;
    scratch.features.push_back(place.offset + feature);
    scratch.values.push_back(value);
    norm += options_.norm == RowNorm::l2 ? static_cast<double>(value) * value : value;
  }
  if (options_.norm == RowNorm::none) norm = 1.0;
  if (options_.norm == RowNorm::l2) norm = std::sqrt(norm);
  if (norm == 0) return;
  for (size_t i = start; i < scratch.values.size(); ++i)
    scratch.values[i] = static_cast<float>(scratch.values[i] / norm) * place.weight;
}

UnionEncoder::UnionEncoder(nb::list keys, nb::list parts, nb::list weights, std::string takes)
    : ContextEncoder(std::move(takes)), keys_(keys), objects_(parts) {
  for (size_t i = 0; i < nb::len(parts); ++i) {
    parts_.push_back(&nb::cast<const ContextEncoder&>(parts[i]));
    names_.push_back(nb::cast<std::string>(keys[i]));
    places_.push_back({i, static_cast<int32_t>(n_features_), nb::cast<float>(weights[i]), nullptr});
    n_features_ += parts_.back()->n_features();
  }
  for (size_t i = 0; i < names_.size(); ++i) places_[i].key = names_[i].c_str();
}

void UnionEncoder::read_part(size_t number, nb::handle context, EncodeScratch& scratch) const {
  PartScratch& part = scratch.parts[number];
  part.counts.clear();
  part.has_text = false;
  if (context.is_valid() && !context.is_none()) parts_[number]->read(context, places_[number], scratch);
}

void UnionEncoder::read(nb::handle context, const PartPlace& place, EncodeScratch& scratch) const {
  PyObject* object = context.ptr();
  if (PyDict_Check(object)) {
    Py_ssize_t n_known = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const nb::object own = value_of(object, keys_[i]);
      n_known += own.is_valid();
      read_part(i, own, scratch);
    }
    if (n_known != PyDict_Size(object)) {
      std::string known;
      for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
      throw BadQuery(context_name(place, scratch) + " has a key that the encoder does not have; its keys are " + known);
    }
    return;
  }
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != static_cast<Py_ssize_t>(parts_.size()))
    refuse(context, place, scratch);
  for (size_t i = 0; i < parts_.size(); ++i)
    read_part(i, PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i)), scratch);
}

void UnionEncoder::finish(const PartPlace&, EncodeScratch& scratch) const {
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i]->finish(places_[i], scratch);
}

}  // namespace labeltrees::encode
