#include "evidence/bindings.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "linear/loss.hpp"
#include "search/bindings.hpp"

namespace labeltrees::evidence {

namespace {

constexpr int64_t kQueriesPerTask = 64;

template <class... Arrays>
void keep(NativeEvidence& native, const Arrays&... arrays) {
  for (nb::object array : {nb::find(arrays)...}) native.arrays.push_back(array);
}

void add_votes(NativeEvidence& native, float weight, int64_t n_neighbours, int64_t n_query_features,
               ConstArray<int64_t> indptr, ConstArray<int32_t> points, ConstArray<uint16_t> values,
               ConstArray<float> feature_weights, ConstArray<int64_t> label_ptr, ConstArray<int32_t> labels) {
  Evidence& evidence = native.evidence;
  evidence.add({.measure = Kind::Measure::kVotes, .weight = weight, .rows = {}});
  evidence.n_neighbours = n_neighbours;
  evidence.n_query_features = n_query_features;
  evidence.n_points = static_cast<int64_t>(label_ptr.size()) - 1;
  evidence.feature_weights = feature_weights.data();
  evidence.points_of_feature = {indptr.data(), points.data(), values.data()};
  evidence.labels_of_point = {label_ptr.data(), labels.data(), nullptr};
  keep(native, indptr, points, values, feature_weights, label_ptr, labels);
}

void add_rows(NativeEvidence& native, float weight, ConstArray<int64_t> indptr, ConstArray<int32_t> features,
              ConstArray<uint16_t> values, bool present) {
  Evidence& evidence = native.evidence;
  const ShortRows rows{indptr.data(), features.data(), values.data()};
  auto bits = present ? std::make_shared<const RowBits>(rows, evidence.n_labels, evidence.n_features) : nullptr;
  evidence.add({.measure = Kind::Measure::kSum,
                .weight = weight,
                .rows = rows,
                .values = present ? QueryValues::kPresent : QueryValues::kUnit,
                .bits = std::move(bits)});
  keep(native, indptr, features, values);
}

void set_proposals(NativeEvidence& native, int64_t n_proposed, ConstArray<int64_t> indptr, ConstArray<int32_t> labels,
                   ConstArray<uint16_t> values) {
  native.evidence.labels_of_item = {indptr.data(), labels.data(), values.data()};
  native.evidence.n_proposed = n_proposed;
  keep(native, indptr, labels, values);
}

void add_classifiers(NativeEvidence& native, float weight, ConstArray<int64_t> indptr, ConstArray<int32_t> features,
                     ConstArray<uint16_t> values, ConstArray<float> bias, bool normalize, const std::string& loss,
                     float score_power) {
  native.evidence.add({.measure = Kind::Measure::kLogScore,
                       .weight = weight,
                       .rows = {indptr.data(), features.data(), values.data()},
                       .bias = bias.data(),
                       .values = normalize ? QueryValues::kUnit : QueryValues::kGiven,
                       .link = {linear::find_loss(loss).id, score_power}});
  keep(native, indptr, features, values, bias);
}

void add_names(NativeEvidence& native, float weight, ConstArray<int64_t> indptr, ConstArray<int32_t> features,
               ConstArray<uint16_t> values, ConstArray<float> bias, ConstArray<int64_t> posting_ptr,
               ConstArray<int32_t> labels, ConstArray<uint16_t> posting_values, int64_t n_proposed) {
  native.evidence.add({.measure = Kind::Measure::kScore,
                       .weight = weight,
                       .rows = {indptr.data(), features.data(), values.data()},
                       .bias = bias.data(),
                       .values = QueryValues::kPresent,
                       .link = {linear::find_loss("logistic").id, 1.0f},
                       .postings = {posting_ptr.data(), labels.data(), posting_values.data()},
                       .n_proposed = n_proposed});
  keep(native, indptr, features, values, bias, posting_ptr, labels, posting_values);
}

// Calls visit(query, scratch) for each query, on threads; the scratch has the query's row.
template <class Visit>
void for_each_query(const NativeEvidence& native, const search::QueryRows& rows, int n_threads, Visit visit) {
  Job job;
  run_job(job, nb::none(), [&] {
    parallel_for((rows.n + kQueriesPerTask - 1) / kQueriesPerTask, n_threads, [&](int64_t task, int) {
      EvidenceScratch scratch;
      search::RowCopy copy;
      for (int64_t query = task * kQueriesPerTask; query < std::min(rows.n, (task + 1) * kQueriesPerTask); ++query) {
        job.check();
        const search::QueryRow row = copy.of(rows, query, native.evidence.n_features);
        scratch.set_row(native.evidence, row.features, row.values, row.n);
        visit(query, scratch);
      }
    });
  });
}

// The labels that match each query by their names, best first: an array (n * k,) padded with -1.
NumPy<int64_t> propose_names(const NativeEvidence& native, const search::NativeRows& queries, int64_t k,
                             int n_threads) {
  const search::QueryRows& rows = queries.rows;
  std::vector<int64_t> labels(static_cast<size_t>(rows.n * k), -1);
  for_each_query(native, rows, n_threads, [&](int64_t query, EvidenceScratch& scratch) {
    std::vector<search::ScoredLabel> found;
    scratch.propose_names(native.evidence, search::LabelFilter(), found);
    for (size_t i = 0; i < std::min(found.size(), static_cast<size_t>(k)); ++i)
      labels[static_cast<size_t>(query * k) + i] = found[i].label;
  });
  return to_numpy(std::move(labels));
}

// The measurement of each kind for the `k` labels of each query (padded with -1): an array (n_kinds * n * k,).
NumPy<float> measure(const NativeEvidence& native, const search::NativeRows& queries, ConstArray<int64_t> labels,
                     int64_t k, int n_threads) {
  const search::QueryRows& rows = queries.rows;
  const size_t n_kinds = native.evidence.kinds.size(), size = labels.size();
  std::vector<float> measured(n_kinds * size);
  for_each_query(native, rows, n_threads, [&](int64_t query, EvidenceScratch& scratch) {
    std::vector<int32_t> known(static_cast<size_t>(k));
    std::vector<float> found(static_cast<size_t>(k) * n_kinds);
    const int64_t* own = labels.data() + query * k;
    int64_t n = 0;
    for (; n < k && own[n] >= 0; ++n) known[n] = static_cast<int32_t>(own[n]);
    scratch.measure(native.evidence, known.data(), n, found.data());
    for (size_t kind = 0; kind < n_kinds; ++kind)
      std::copy_n(found.data() + static_cast<int64_t>(kind) * n, n, measured.data() + kind * size + query * k);
  });
  return to_numpy(std::move(measured));
}

// The labels that the items of each query propose in addition to its `k` labels: an array (n * n_proposed,). Both lists
// are padded with -1.
NumPy<int64_t> propose(const NativeEvidence& native, const search::NativeRows& queries, ConstArray<int64_t> labels,
                       int64_t k, int n_threads) {
  const search::QueryRows& rows = queries.rows;
  const auto n_proposed = static_cast<size_t>(native.evidence.n_proposed);
  std::vector<int64_t> proposed(static_cast<size_t>(rows.n) * n_proposed, -1);
  for_each_query(native, rows, n_threads, [&](int64_t query, EvidenceScratch& scratch) {
    std::vector<search::ScoredLabel> known;
    for (int64_t i = query * k; i < (query + 1) * k; ++i)
      if (labels.data()[i] >= 0) known.push_back({0.0f, static_cast<int32_t>(labels.data()[i])});
    const size_t n_known = known.size();
    scratch.propose(native.evidence, known, [](int32_t) { return true; });
    for (size_t i = n_known; i < known.size(); ++i)
      proposed[static_cast<size_t>(query) * n_proposed + i - n_known] = known[i].label;
  });
  return to_numpy(std::move(proposed));
}

// Blends tree scores (n) with the measurements (n_kinds * n) of kinds that have these weights. Returns (n) scores.
NumPy<float> blend_scores(ConstArray<float> scores, ConstArray<float> measured, ConstArray<float> weights,
                          ConstArray<uint8_t> multiplies) {
  Blend blend;
  for (size_t i = 0; i < weights.size(); ++i) blend.add(weights.data()[i], multiplies.data()[i] != 0);
  std::vector<float> blended(scores.size());
  for (size_t i = 0; i < blended.size(); ++i)
    blended[i] = blend(scores.data()[i], 1.0f, measured.data() + i, blended.size());
  return to_numpy(std::move(blended));
}

}  // namespace

void bind_evidence(nb::module_& module) {
  nb::class_<NativeEvidence>(module, "Evidence")
      .def(
          "__init__",
          [](NativeEvidence* self, int64_t n_features, int32_t n_labels, int64_t n_searched, int64_t n_candidates) {
            new (self) NativeEvidence();
            Evidence& evidence = self->evidence;
            evidence.n_features = n_features;
            evidence.n_labels = n_labels;
            evidence.n_searched = n_searched;
            evidence.n_candidates = n_candidates;
          },
          nb::kw_only(), nb::arg("n_features"), nb::arg("n_labels"), nb::arg("n_searched"), nb::arg("n_candidates"))
      .def("add_votes", &add_votes, nb::arg("weight"), nb::arg("n_neighbours"), nb::arg("n_query_features"),
           nb::arg("indptr").noconvert(), nb::arg("points").noconvert(), nb::arg("values").noconvert(),
           nb::arg("feature_weights").noconvert(), nb::arg("label_ptr").noconvert(), nb::arg("labels").noconvert())
      .def("add_rows", &add_rows, nb::arg("weight"), nb::arg("indptr").noconvert(), nb::arg("features").noconvert(),
           nb::arg("values").noconvert(), nb::arg("present"))
      .def("set_proposals", &set_proposals, nb::arg("n_proposed"), nb::arg("indptr").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("values").noconvert())
      .def("propose", &propose, nb::arg("rows"), nb::arg("labels").noconvert(), nb::arg("k"), nb::arg("n_threads"))
      .def("add_classifiers", &add_classifiers, nb::arg("weight"), nb::arg("indptr").noconvert(),
           nb::arg("features").noconvert(), nb::arg("values").noconvert(), nb::arg("bias").noconvert(),
           nb::arg("normalize"), nb::arg("loss"), nb::arg("score_power"))
      .def("add_names", &add_names, nb::arg("weight"), nb::arg("indptr").noconvert(), nb::arg("features").noconvert(),
           nb::arg("values").noconvert(), nb::arg("bias").noconvert(), nb::arg("posting_ptr").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("posting_values").noconvert(), nb::arg("n_proposed"))
      .def("propose_names", &propose_names, nb::arg("rows"), nb::arg("k"), nb::arg("n_threads"))
      .def("measure", &measure, nb::arg("rows"), nb::arg("labels").noconvert(), nb::arg("k"), nb::arg("n_threads"));
  module.def("blend_scores", &blend_scores, nb::arg("scores").noconvert(), nb::arg("measured").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("multiplies").noconvert());
}

}  // namespace labeltrees::evidence
