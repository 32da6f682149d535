#include "encode/union_encoder.hpp"

#include <nanobind/stl/string.h>

#include "search/bad_query.hpp"

namespace labeltrees {

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
      nb::object own = nb::borrow(PyDict_GetItemWithError(object, keys_[i].ptr()));
      if (!own.is_valid() && PyErr_Occurred()) throw nb::python_error();
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

}  // namespace labeltrees
