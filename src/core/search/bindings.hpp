// The arguments and results of native searches as Python objects, each with the arrays that it points into.
#pragma once

#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bindings.hpp"
#include "encode/names.hpp"
#include "linear/loss.hpp"
#include "search/engine.hpp"
#include "search/label_rules.hpp"
#include "search/query.hpp"
#include "search/request.hpp"
#include "search/results.hpp"

namespace labeltrees::search {

struct NativeRequest {
  SearchRequest request;
  std::vector<nb::object> arrays;
};

struct NativeRows {
  QueryRows rows;
  std::vector<nb::object> arrays;
};

// Runs a search of n queries with the GIL released. A long search runs in another thread, while this one checks for
// Ctrl-C.
template <class Work>
void run_search(Job& job, int64_t n_queries, Work&& work) {
  if (n_queries >= 1000) return run_job(job, nb::none(), work);
  ReleaseLock release;
  work();
}

// A NumPy array of n entries, not initialised.
template <class T>
NumPy<T> empty_array(int64_t n) {
  T* data = new T[static_cast<size_t>(n)];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return NumPy<T>(data, {static_cast<size_t>(n)}, owner);
}

// Labels and scores (n * k,), and chunks, classifiers, depth, microseconds, partial and no_features (n,).
using NativeResults = Tuple<
    NumPy<int64_t>, NumPy<float>,
    std::optional<Tuple<NumPy<int64_t>, NumPy<int64_t>, NumPy<int32_t>, NumPy<float>, NumPy<uint8_t>, NumPy<uint8_t>>>>;
// Where the nodes of each query end, the nodes, and their scores.
using TraceArrays = Tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<float>>;
// What a predictor returns: labels are an array of ids or a list of names.
using AnswerArrays = Tuple<nb::any, NumPy<float>>;
using AnswerLists = Tuple<List<nb::any>, List<float>>;

class ResultArrays {
 public:
  ResultArrays(int64_t n, int64_t k, bool stats)
      : labels_(empty_array<int64_t>(n * k)), scores_(empty_array<float>(n * k)), stats_(stats) {
    results_ = {k, labels_.data(), scores_.data()};
    if (!stats) return;
    chunks_ = empty_array<int64_t>(n);
    classifiers_ = empty_array<int64_t>(n);
    depth_ = empty_array<int32_t>(n);
    microseconds_ = empty_array<float>(n);
    partial_ = empty_array<uint8_t>(n);
    no_features_ = empty_array<uint8_t>(n);
    results_.chunks = chunks_.data();
    results_.classifiers = classifiers_.data();
    results_.depth = depth_.data();
    results_.microseconds = microseconds_.data();
    results_.partial = partial_.data();
    results_.no_features = no_features_.data();
  }

  const SearchResults& results() const { return results_; }

  // (labels, scores, None or the arrays of the statistics)
  NativeResults to_python() const {
    if (!stats_) return nb::make_tuple(labels_, scores_, nb::none());
    return nb::make_tuple(labels_, scores_,
                          nb::make_tuple(chunks_, classifiers_, depth_, microseconds_, partial_, no_features_));
  }

 private:
  NumPy<int64_t> labels_;
  NumPy<float> scores_;
  bool stats_;
  NumPy<int64_t> chunks_, classifiers_;
  NumPy<int32_t> depth_;
  NumPy<float> microseconds_;
  NumPy<uint8_t> partial_, no_features_;
  SearchResults results_{};
};

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

// The limits of groups, checked.
struct NativeGroupLimits {
  GroupLimits limits;
};

// Weights of one call: prepared ones, or those of some labels.
struct WeightArgument {
  const LabelWeights* prepared = nullptr;
  std::vector<int32_t> labels;
  std::vector<float> weights;
  bool given = false;

  Boosts boosts() const {
    static const int32_t empty = 0;
    if (!given || prepared) return {};
    return {labels.empty() ? &empty : labels.data(), weights.data(), static_cast<int64_t>(labels.size())};
  }
};

// The labels of one argument: a prepared set, or ids.
struct LabelArgument {
  const LabelSet* set = nullptr;
  std::vector<int32_t> ids;
  bool given = false;
  int64_t n_unknown = 0;
  nb::object unknown;  // the first unknown name

  LabelLists list() const {
    static const int32_t empty = 0;
    if (!given || set) return {};
    return {nullptr, ids.empty() ? &empty : ids.data(), static_cast<int64_t>(ids.size())};
  }
};

// Reads None, a prepared set of `owner`, or a list, tuple, set or array of label ids or names. Unknown names are
// counted and left out (see refuse_unknown); ids must exist. names: those of the labels, or null if they have none.
void read_labels(nb::handle object, const char* name, const void* owner, int64_t n_labels,
                 const encode::NameTable* names, LabelArgument& labels);
// Throws BadQuery if a name was unknown; the message suggests similar names.
void refuse_unknown(const char* name, const LabelArgument& labels, const encode::NameTable* names);

// Reads None, prepared weights of `owner`, or a dict from label ids or names to numbers of at least 0. Throws BadQuery
// for an unknown name. logs: keep logarithms.
void read_weights(nb::handle object, const void* owner, int64_t n_labels, const encode::NameTable* names, bool logs,
                  WeightArgument& weights);

// The method label_set of an engine's bindings. names: NativeNames of the labels, or None.
template <class Native>
Object<NativeLabelSet> label_set(nb::handle_t<Native> engine, nb::handle labels, Object<encode::NativeNames> names) {
  auto& native = nb::cast<Native&>(engine).engine;
  const encode::NameTable* table = names.is_none() ? nullptr : &nb::cast<const encode::NativeNames&>(names).table;
  LabelArgument given;
  read_labels(labels, "labels", &native, native.n_labels(), table, given);
  if (given.set) return nb::borrow(labels);
  NativeLabelSet made{nb::borrow(engine), nullptr, given.n_unknown};
  {
    ReleaseLock release;
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

// The method set_retired of an engine's bindings.
template <class Native>
void set_retired(Native& native, ConstArray<int32_t> labels) {
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels.data()[i] < 0 || labels.data()[i] >= native.engine.n_labels())
      throw std::invalid_argument("a retired label does not exist");
  ReleaseLock release;
  native.engine.set_retired(labels.data(), static_cast<int64_t>(labels.size()));
}

// The method label_weights of an engine's bindings. weights: one per label, finite and at least 0.
template <class Native>
Object<NativeLabelWeights> label_weights(nb::handle_t<Native> engine, ConstArray<float> weights) {
  auto& native = nb::cast<Native&>(engine).engine;
  if (static_cast<int64_t>(weights.size()) != native.n_labels())
    throw std::invalid_argument("weights must have one entry per label");
  NativeLabelWeights made{nb::borrow(engine), nullptr};
  {
    ReleaseLock release;
    made.weights = native.make_weights(weights.data());
  }
  return nb::cast(std::move(made));
}

// The search engine together with the arrays that it points into.
struct NativeEngine {
  NativeEngine(int64_t n_features, int32_t n_labels, bool matrices, bool normalize, const std::string& loss,
               float score_power)
      : engine(n_features, n_labels, matrices, normalize, {linear::find_loss(loss).id, score_power}) {}
  SearchEngine engine;
  std::vector<nb::object> arrays;
};

}  // namespace labeltrees::search
