#include "evidence/bindings.hpp"

#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "search/bindings.hpp"

namespace labeltrees::evidence {

namespace {

constexpr int64_t kQueriesPerTask = 64;

void set_points(NativeEvidence& native, ConstArray<int64_t> indptr, ConstArray<int32_t> points,
                ConstArray<uint16_t> values, ConstArray<float> feature_weights, ConstArray<int64_t> label_ptr,
                ConstArray<int32_t> labels) {
  native.evidence.n_points = static_cast<int64_t>(label_ptr.size()) - 1;
  native.evidence.feature_weights = feature_weights.data();
  native.evidence.points_of_feature = {indptr.data(), points.data(), values.data()};
  native.evidence.labels_of_point = {label_ptr.data(), labels.data(), nullptr};
  for (nb::object array : {nb::find(indptr), nb::find(points), nb::find(values), nb::find(feature_weights),
                           nb::find(label_ptr), nb::find(labels)})
    native.arrays.push_back(array);
}

void set_centroids(NativeEvidence& native, ConstArray<int64_t> indptr, ConstArray<int32_t> features,
                   ConstArray<uint16_t> values) {
  native.evidence.centroids = {indptr.data(), features.data(), values.data()};
  for (nb::object array : {nb::find(indptr), nb::find(features), nb::find(values)}) native.arrays.push_back(array);
}

// The votes and the cosines of `k` labels per query, -1 for none: two arrays (n * k,).
Tuple<NumPy<float>, NumPy<float>> measure(const NativeEvidence& native, const search::NativeRows& queries,
                                          ConstArray<int64_t> labels, int64_t k, int n_threads) {
  const search::QueryRows& rows = queries.rows;
  std::vector<float> votes(labels.size()), cosines(labels.size());
  Job job;
  run_job(job, nb::none(), [&] {
    parallel_for((rows.n + kQueriesPerTask - 1) / kQueriesPerTask, n_threads, [&](int64_t task, int) {
      EvidenceScratch scratch;
      search::RowCopy copy;
      std::vector<int32_t> known(static_cast<size_t>(k));
      std::vector<LabelEvidence> found(static_cast<size_t>(k));
      for (int64_t query = task * kQueriesPerTask; query < std::min(rows.n, (task + 1) * kQueriesPerTask); ++query) {
        job.check();
        const search::QueryRow row = copy.of(rows, query, native.evidence.n_features);
        scratch.set_row(native.evidence, row.features, row.values, row.n);
        const int64_t* own = labels.data() + query * k;
        int64_t n = 0;
        for (; n < k && own[n] >= 0; ++n) known[n] = static_cast<int32_t>(own[n]);
        scratch.measure(native.evidence, known.data(), n, found.data());
        for (int64_t i = 0; i < n; ++i) {
          votes[query * k + i] = found[i].vote;
          cosines[query * k + i] = found[i].cosine;
        }
      }
    });
  });
  return nb::make_tuple(to_numpy(std::move(votes)), to_numpy(std::move(cosines)));
}

}  // namespace

void bind_evidence(nb::module_& module) {
  nb::class_<NativeEvidence>(module, "Evidence")
      .def(
          "__init__",
          [](NativeEvidence* self, int64_t n_features, int32_t n_labels, float neighbour_weight, float centroid_weight,
             int64_t n_searched, int64_t n_candidates, int64_t n_neighbours, int64_t n_query_features) {
            new (self) NativeEvidence();
            Evidence& evidence = self->evidence;
            evidence.n_features = n_features;
            evidence.n_labels = n_labels;
            evidence.neighbour_weight = neighbour_weight;
            evidence.centroid_weight = centroid_weight;
            evidence.n_searched = n_searched;
            evidence.n_candidates = n_candidates;
            evidence.n_neighbours = n_neighbours;
            evidence.n_query_features = n_query_features;
          },
          nb::kw_only(), nb::arg("n_features"), nb::arg("n_labels"), nb::arg("neighbour_weight"),
          nb::arg("centroid_weight"), nb::arg("n_searched"), nb::arg("n_candidates"), nb::arg("n_neighbours"),
          nb::arg("n_query_features"))
      .def("set_points", &set_points, nb::arg("indptr").noconvert(), nb::arg("points").noconvert(),
           nb::arg("values").noconvert(), nb::arg("feature_weights").noconvert(), nb::arg("label_ptr").noconvert(),
           nb::arg("labels").noconvert())
      .def("set_centroids", &set_centroids, nb::arg("indptr").noconvert(), nb::arg("features").noconvert(),
           nb::arg("values").noconvert())
      .def("measure", &measure, nb::arg("rows"), nb::arg("labels").noconvert(), nb::arg("k"), nb::arg("n_threads"));
}

}  // namespace labeltrees::evidence
