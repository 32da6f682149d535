// The labels that a call to a predictor allows or excludes, and prepared sets of labels as Python objects.
#pragma once

#include <memory>
#include <vector>

#include "encode/names.hpp"
#include "search/label_set.hpp"
#include "search/label_weights.hpp"
#include "search/request.hpp"

namespace labeltrees {

// A prepared set, kept alive with the engine that it belongs to.
struct NativeLabelSet {
  nb::object engine;
  std::unique_ptr<LabelSet> set;
  int64_t n_unknown = 0;  // labels given that the model does not have
};

// Prepared weights, kept alive with the engine that they belong to.
struct NativeLabelWeights {
  nb::object engine;
  std::unique_ptr<LabelWeights> weights;
};

// The labels of one argument: a prepared set, or ids.
struct LabelArgument {
  const LabelSet* set = nullptr;
  std::vector<int32_t> ids;
  bool given = false;
  int64_t n_unknown = 0;

  LabelLists list() const {
    static const int32_t empty = 0;
    if (!given || set) return {};
    return {nullptr, ids.empty() ? &empty : ids.data(), static_cast<int64_t>(ids.size())};
  }
};

// Reads None, a prepared set of `owner`, or a list, tuple, set or array of label ids or names. Names that are not known
// are counted and left out; ids must exist. names: those of the labels, or null if they have none.
void read_labels(nb::handle object, const char* name, const void* owner, int64_t n_labels, const NameTable* names,
                 LabelArgument& labels);

// The method label_set of an engine's bindings. names: NativeNames of the labels, or None.
template <class Native>
nb::object label_set(nb::handle_t<Native> engine, nb::handle labels, nb::handle names) {
  auto& native = nb::cast<Native&>(engine).engine;
  const NameTable* table = names.is_none() ? nullptr : &nb::cast<const NativeNames&>(names).table;
  LabelArgument given;
  read_labels(labels, "labels", &native, native.n_labels(), table, given);
  if (given.set) return nb::borrow(labels);
  NativeLabelSet made{nb::borrow(engine), nullptr, given.n_unknown};
  {
    nb::gil_scoped_release release;
    made.set = native.make_set(given.ids.data(), static_cast<int64_t>(given.ids.size()));
  }
  return nb::cast(std::move(made));
}

// The method set_prior of an engine's bindings.
template <class Native>
void set_prior(Native& native, ConstArray<int64_t> counts, int64_t n_points) {
  if (static_cast<int64_t>(counts.size()) != native.engine.n_labels() || n_points < 1)
    throw std::invalid_argument("counts must have one entry per label");
  native.arrays.push_back(nb::find(counts));
  native.engine.set_prior(counts.data(), n_points);
}

// The method label_weights of an engine's bindings. weights: one per label, finite and at least 0.
template <class Native>
nb::object label_weights(nb::handle_t<Native> engine, ConstArray<float> weights) {
  auto& native = nb::cast<Native&>(engine).engine;
  if (static_cast<int64_t>(weights.size()) != native.n_labels())
    throw std::invalid_argument("weights must have one entry per label");
  NativeLabelWeights made{nb::borrow(engine), nullptr};
  {
    nb::gil_scoped_release release;
    made.weights = native.make_weights(weights.data());
  }
  return nb::cast(std::move(made));
}

}  // namespace labeltrees
