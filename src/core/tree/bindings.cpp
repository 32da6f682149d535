// The bindings of trees: operations on existing trees (checks, parents, depths, sums, orders, contraction), and making
// new ones.
#include "common/bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "labels/label_rows.hpp"
#include "tree/arrays.hpp"
#include "tree/builder.hpp"
#include "tree/contract.hpp"
#include "tree/placement.hpp"
#include "tree/split.hpp"

namespace labeltrees::tree {

using labeltrees::to_numpy;

using NativeTree = Tuple<NumPy<int64_t>, NumPy<int32_t>>;  // child_ptr and children

// Hands a tree's arrays to NumPy without copying.
inline NativeTree to_numpy(TreeArrays&& tree) {
  return nb::make_tuple(to_numpy(std::move(tree.child_ptr)), to_numpy(std::move(tree.children)));
}

// Operations on existing trees: checks, parents, depths, sums, orders and contraction.

namespace {

std::tuple<int, int64_t, int64_t> tree_parents(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children,
                                               Array<int32_t> parent, Array<int32_t> label_parent) {
  ReleaseLock release;
  const TreeView tree = view_tree(child_ptr, children, static_cast<int64_t>(label_parent.size()));
  const TreeCheck check = find_parents(tree, parent.data(), label_parent.data());
  return {static_cast<int>(check.fault), check.node, check.position};
}

void tree_depths(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> parent,
                 ConstArray<int32_t> label_parent, Array<int32_t> node_depth, Array<int32_t> label_depth) {
  ReleaseLock release;
  find_depths(view_tree(child_ptr, children, static_cast<int64_t>(label_parent.size())), parent.data(),
              label_parent.data(), node_depth.data(), label_depth.data());
}

template <class Weight>
void tree_sums(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> parent,
               ConstArray<Weight> weights, Array<Weight> total) {
  ReleaseLock release;
  sum_below(view_tree(child_ptr, children, static_cast<int64_t>(weights.size())), parent.data(), weights.data(),
            total.data());
}

void tree_leaf_order(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int64_t> n_below,
                     Array<int64_t> start, Array<int32_t> order) {
  ReleaseLock release;
  find_leaf_order(view_tree(child_ptr, children, static_cast<int64_t>(order.size())), n_below.data(), start.data(),
                  order.data());
}

int64_t tree_renumber(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<double> mass,
                      Array<int64_t> new_child_ptr, Array<int32_t> new_children, Array<int32_t> old_ids) {
  ReleaseLock release;
  return renumber_nodes(view_tree(child_ptr, children, 0), mass.data(), new_child_ptr.data(), new_children.data(),
                        old_ids.data());
}

NativeTree contract(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<double> mass,
                    int64_t fanout, bool keep_leaves) {
  return to_numpy(contract_tree(view_tree(child_ptr, children, 0), mass.data(), fanout, keep_leaves));
}

NativeTree contract_by_cost(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<double> visits,
                            ConstArray<double> cost_of, int64_t max_children, bool keep_leaves) {
  TreeArrays tree;
  Job job;
  run_job(job, nb::none(), [&] {
    tree = contract_for_cost(view_tree(child_ptr, children, 0), visits.data(), cost_of.data(), max_children,
                             keep_leaves, job);
  });
  return to_numpy(std::move(tree));
}

NumPy<int64_t> find_label_homes(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> order,
                                ConstArray<int64_t> start, ConstArray<int64_t> n_below, ConstArray<int64_t> indptr,
                                ConstArray<int32_t> columns, ConstArray<float> values, int64_t n_columns,
                                ConstArray<double> weights, double similarity, double frequency,
                                ConstArray<int32_t> labels, int n_threads) {
  std::vector<int64_t> homes(labels.size());
  Job job;
  run_job(job, nb::none(), [&] {
    find_homes(view_tree(child_ptr, children, static_cast<int64_t>(weights.size())), order.data(), start.data(),
               n_below.data(), {indptr.data(), columns.data(), values.data(), n_columns, weights.data()}, similarity,
               frequency, labels.data(), static_cast<int64_t>(labels.size()), homes.data(), n_threads);
  });
  return to_numpy(std::move(homes));
}

}  // namespace

void bind_tree(nb::module_& module) {
  auto child_ptr = nb::arg("child_ptr").noconvert(), children = nb::arg("children").noconvert();
  auto parent = nb::arg("parent").noconvert(), label_parent = nb::arg("label_parent").noconvert();
  auto weights = nb::arg("weights").noconvert(), total = nb::arg("total").noconvert();
  auto mass = nb::arg("mass").noconvert();
  module.def("tree_parents", &tree_parents, child_ptr, children, parent, label_parent);
  module.def("tree_depths", &tree_depths, child_ptr, children, parent, label_parent, nb::arg("node_depth").noconvert(),
             nb::arg("label_depth").noconvert());
  module.def("tree_mass", &tree_sums<double>, child_ptr, children, parent, weights, total);
  module.def("tree_counts", &tree_sums<int64_t>, child_ptr, children, parent, weights, total);
  module.def("tree_leaf_order", &tree_leaf_order, child_ptr, children, nb::arg("n_below").noconvert(),
             nb::arg("start").noconvert(), nb::arg("order").noconvert());
  module.def("tree_renumber", &tree_renumber, child_ptr, children, mass, nb::arg("new_child_ptr").noconvert(),
             nb::arg("new_children").noconvert(), nb::arg("old_ids").noconvert());
  module.def("contract_tree", &contract, child_ptr, children, mass, nb::arg("fanout"), nb::arg("keep_leaves"));
  module.def("contract_for_cost", &contract_by_cost, child_ptr, children, nb::arg("visits").noconvert(),
             nb::arg("cost_of").noconvert(), nb::arg("max_children"), nb::arg("keep_leaves"));
  module.def("find_homes", &find_label_homes, nb::kw_only(), child_ptr, children, nb::arg("order").noconvert(),
             nb::arg("start").noconvert(), nb::arg("n_below").noconvert(), nb::arg("indptr").noconvert(),
             nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"), weights,
             nb::arg("similarity"), nb::arg("frequency"), nb::arg("labels").noconvert(), nb::arg("n_threads"));
}

// Making new trees: one split, the whole binary tree, and the codes.

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
    rows.rows.push_back({start, static_cast<int32_t>(end - start), 0, labels.data()[i], 1, weights.data()[i]});
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

Tuple<NumPy<double>, List<Tuple<int64_t, int64_t>>, List<NumPy<double>>, int64_t> split_labels(
    ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr, ConstArray<int32_t> columns,
    ConstArray<float> values, int32_t n_columns, nb::object settings, uint64_t seed) {
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

Tuple<NumPy<uint8_t>, uint64_t, uint64_t> split_set_of(ConstArray<int32_t> labels, ConstArray<double> weights,
                                                       ConstArray<int64_t> indptr, ConstArray<int32_t> columns,
                                                       ConstArray<float> values, int32_t n_columns, nb::object settings,
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

NativeTree build_binary(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
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
NativeTree code_tree(ConstArray<int32_t> labels, ConstArray<double> weights) {
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
