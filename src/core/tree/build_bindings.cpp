// Making new trees: one split, the whole binary tree, and the codes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "common/bindings.hpp"
#include "labels/label_rows.hpp"
#include "tree/builder.hpp"
#include "tree/numpy.hpp"
#include "tree/split.hpp"

namespace labeltrees::tree {

namespace {

// Rows of the labels' embeddings as Python passes them: label l has the values indptr[l] .. indptr[l + 1]; columns of
// size 0 mean dense rows.
labels::RowBuffer rows_of(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
                          ConstArray<int32_t> columns, ConstArray<float> values) {
  labels::RowBuffer rows;
  rows.rows.reserve(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t start = indptr.data()[labels.data()[i]];
    const int64_t end = indptr.data()[labels.data()[i] + 1];
    rows.rows.push_back({start, static_cast<int32_t>(end - start), 0, labels.data()[i], weights.data()[i]});
  }
  // Only written if the caller made the arrays for this call.
  rows.columns = columns.size() > 0 ? const_cast<int32_t*>(columns.data()) : nullptr;
  rows.values = const_cast<float*>(values.data());
  return rows;
}

std::pair<int64_t, double> half_of(ConstArray<double> keys, ConstArray<double> weights) {
  std::vector<labels::LabelRow> rows(keys.size());
  double total = 0;
  for (size_t i = 0; i < rows.size(); ++i) total += rows[i].weight = weights.data()[i];
  Team team(1);
  SelectScratch scratch;
  const Half half = select_half(keys.data(), rows.data(), static_cast<int64_t>(rows.size()), total, team, scratch);
  return {half.crossing, half.alpha};
}

nb::tuple split_labels(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
                       ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, double similarity,
                       double frequency, bool relaxed, int max_iterations, double tolerance, uint64_t seed) {
  labels::RowBuffer given = rows_of(labels, weights, indptr, columns, values);
  SplitSettings settings{similarity, frequency, relaxed};
  settings.max_iterations = max_iterations;
  settings.tolerance = tolerance;
  std::vector<double> share;
  SplitTrace trace;
  Job job;
  run_job(job, nb::none(), [&] {
    const labels::RowBuffer rows = labels::put_cores_first(std::move(given), false, 1);
    Team team(1);
    Splitter splitter(settings, team, job);
    splitter.split(rows.view(n_columns), seed, &trace);
    share = splitter.share();
  });
  nb::list starts, histories;
  for (auto& start : trace.starts) {
    starts.append(nb::make_tuple(start.rows[0], start.rows[1]));
    histories.append(to_numpy(std::move(start.history)));
  }
  return nb::make_tuple(to_numpy(std::move(share)), starts, histories, trace.best);
}

// Frequencies and cover frequencies per label, then the coefficients of NodeWeights.
using NodeWeightArguments = std::tuple<ConstArray<double>, ConstArray<double>, double, double, double, double>;

NodeWeights node_weights_of(const std::optional<NodeWeightArguments>& given) {
  if (!given) return {};
  const auto& [frequencies, covers, by_frequency, power, by_cover, uniform] = *given;
  return {frequencies.data(), covers.data(), by_frequency, power, by_cover, uniform};
}

nb::tuple split_set_of(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
                       ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, double similarity,
                       double frequency, const std::optional<NodeWeightArguments>& node_weights, uint64_t seed,
                       int n_threads) {
  labels::RowBuffer given = rows_of(labels, weights, indptr, columns, values);
  BuildSettings settings{{similarity, frequency}, 1, seed, n_threads, node_weights_of(node_weights)};
  if (settings.weights.given()) settings.weights.set(given.rows.data(), static_cast<int64_t>(given.rows.size()));
  SetSplit split;
  Job job;
  run_job(job, nb::none(), [&] {
    const labels::RowBuffer rows = labels::put_cores_first(std::move(given), true, n_threads);
    split = split_set(rows.view(n_columns), settings, job);
  });
  return nb::make_tuple(to_numpy(std::move(split.is_plus)), split.plus_seed, split.minus_seed);
}

nb::tuple build_binary(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
                       ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, double similarity,
                       double frequency, const std::optional<NodeWeightArguments>& node_weights, int64_t leaf_size,
                       bool below_root, uint64_t seed, int n_threads, bool may_overwrite, nb::object progress) {
  labels::RowBuffer given = rows_of(labels, weights, indptr, columns, values);
  BuildSettings settings{{similarity, frequency}, leaf_size, seed, n_threads, node_weights_of(node_weights)};
  if (below_root && settings.weights.given())
    settings.weights.set(given.rows.data(), static_cast<int64_t>(given.rows.size()));
  TreeArrays tree;
  Job job;
  run_job(job, progress, [&] {
    tree = build_binary_tree(labels::put_cores_first(std::move(given), may_overwrite, n_threads), n_columns, settings,
                             job);
  });
  return to_numpy(std::move(tree));
}

using Code = TreeArrays(const int32_t* labels, const double* weights, int64_t n);

template <Code make>
nb::tuple code_tree(ConstArray<int32_t> labels, ConstArray<double> weights) {
  return to_numpy(make(labels.data(), weights.data(), static_cast<int64_t>(labels.size())));
}

}  // namespace

void bind_tree_building(nb::module_& module) {
  auto labels = nb::arg("labels").noconvert(), weights = nb::arg("weights").noconvert();
  auto indptr = nb::arg("indptr").noconvert(), columns = nb::arg("columns").noconvert();
  auto values = nb::arg("values").noconvert();
  module.attr("PROGRESS_UNITS") = kProgressUnits;
  module.def("select_half", &half_of, nb::arg("keys").noconvert(), weights);
  module.def("split_labels", &split_labels, labels, weights, indptr, columns, values, nb::arg("n_columns"),
             nb::arg("similarity"), nb::arg("frequency"), nb::arg("relaxed"), nb::arg("max_iterations"),
             nb::arg("tolerance"), nb::arg("seed"));
  module.def("build_binary_tree", &build_binary, labels, weights, indptr, columns, values, nb::arg("n_columns"),
             nb::arg("similarity"), nb::arg("frequency"), nb::arg("node_weights").none(), nb::arg("leaf_size"),
             nb::arg("below_root"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("may_overwrite"),
             nb::arg("progress").none());
  module.def("split_set", &split_set_of, labels, weights, indptr, columns, values, nb::arg("n_columns"),
             nb::arg("similarity"), nb::arg("frequency"), nb::arg("node_weights").none(), nb::arg("seed"),
             nb::arg("n_threads"));
  module.def("huffman_tree", &code_tree<huffman_tree>, labels, weights);
  module.def("fano_tree", &code_tree<fano_tree>, labels, weights);
}

}  // namespace labeltrees::tree
