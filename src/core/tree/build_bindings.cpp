// Making new trees: one split, the whole binary tree, and the codes.
#include <nanobind/stl/pair.h>

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

// Reads the fields of a SplitSettings of tree/splits.py, which has checked them.
SplitSettings read_split(nb::handle given) {
  SplitSettings split{read_field<double>(given, "similarity"), read_field<double>(given, "frequency")};
  split.relaxed = read_field<bool>(given, "relaxed");
  split.max_iterations = read_field<int>(given, "max_iterations");
  split.tolerance = read_field<double>(given, "tolerance");
  return split;
}

// The same for a whole tree. `given` must outlive the result, which points into its arrays.
BuildSettings read_settings(nb::handle given, uint64_t seed, int n_threads) {
  BuildSettings settings{read_split(given), read_field<int64_t>(given, "leaf_size"), seed, n_threads, {}};
  const nb::object weights = given.attr("node_weights");
  if (weights.is_none()) return settings;
  settings.weights = {read_field<ConstArray<double>>(weights, "frequencies").data(),
                      read_field<ConstArray<double>>(weights, "covers").data(),
                      read_field<double>(weights, "frequency"),
                      read_field<double>(weights, "power"),
                      read_field<double>(weights, "cover"),
                      read_field<double>(weights, "uniform")};
  return settings;
}

nb::tuple split_labels(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
                       ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, nb::object settings,
                       uint64_t seed) {
  labels::RowBuffer given = rows_of(labels, weights, indptr, columns, values);
  const SplitSettings split = read_split(settings);
  std::vector<double> share;
  SplitTrace trace;
  Job job;
  run_job(job, nb::none(), [&] {
    const labels::RowBuffer rows = labels::put_cores_first(std::move(given), false, 1);
    Team team(1);
    Splitter splitter(split, team, job);
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

// The rows and the settings of a set of labels; below the root, a node may compute its weights anew.
BuildSettings prepare_set(labels::RowBuffer& rows, nb::handle given, uint64_t seed, int n_threads, bool below_root) {
  const BuildSettings settings = read_settings(given, seed, n_threads);
  if (below_root && settings.weights.given())
    settings.weights.set(rows.rows.data(), static_cast<int64_t>(rows.rows.size()));
  return settings;
}

nb::tuple split_set_of(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
                       ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, nb::object settings,
                       uint64_t seed, int n_threads, bool below_root) {
  labels::RowBuffer given = rows_of(labels, weights, indptr, columns, values);
  const BuildSettings build = prepare_set(given, settings, seed, n_threads, below_root);
  SetSplit split;
  Job job;
  run_job(job, nb::none(), [&] {
    const labels::RowBuffer rows = labels::put_cores_first(std::move(given), true, n_threads);
    split = split_set(rows.view(n_columns), build, job);
  });
  return nb::make_tuple(to_numpy(std::move(split.is_plus)), split.plus_seed, split.minus_seed);
}

nb::tuple build_binary(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
                       ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, nb::object settings,
                       uint64_t seed, int n_threads, bool below_root, bool may_overwrite, nb::object progress) {
  labels::RowBuffer given = rows_of(labels, weights, indptr, columns, values);
  const BuildSettings build = prepare_set(given, settings, seed, n_threads, below_root);
  TreeArrays tree;
  Job job;
  run_job(job, progress, [&] {
    tree =
        build_binary_tree(labels::put_cores_first(std::move(given), may_overwrite, n_threads), n_columns, build, job);
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
             nb::arg("settings"), nb::arg("seed"));
  module.def("build_binary_tree", &build_binary, labels, weights, indptr, columns, values, nb::arg("n_columns"),
             nb::arg("settings"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("below_root"),
             nb::arg("may_overwrite"), nb::arg("progress").none());
  module.def("split_set", &split_set_of, labels, weights, indptr, columns, values, nb::arg("n_columns"),
             nb::arg("settings"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("below_root"));
  module.def("huffman_tree", &code_tree<huffman_tree>, labels, weights);
  module.def("fano_tree", &code_tree<fano_tree>, labels, weights);
}

}  // namespace labeltrees::tree
