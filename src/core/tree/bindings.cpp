// Operations on existing trees: checks, parents, depths, sums, orders and contraction.
#include "common/bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "tree/arrays.hpp"
#include "tree/contract.hpp"
#include "tree/numpy.hpp"

namespace labeltrees::tree {

namespace {

std::tuple<int, int64_t, int64_t> tree_parents(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children,
                                               Array<int32_t> parent, Array<int32_t> label_parent) {
  nb::gil_scoped_release release;
  const TreeView tree = view_tree(child_ptr, children, static_cast<int64_t>(label_parent.size()));
  const TreeCheck check = find_parents(tree, parent.data(), label_parent.data());
  return {static_cast<int>(check.fault), check.node, check.position};
}

void tree_depths(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> parent,
                 ConstArray<int32_t> label_parent, Array<int32_t> node_depth, Array<int32_t> label_depth) {
  nb::gil_scoped_release release;
  find_depths(view_tree(child_ptr, children, static_cast<int64_t>(label_parent.size())), parent.data(),
              label_parent.data(), node_depth.data(), label_depth.data());
}

template <class Weight>
void tree_sums(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> parent,
               ConstArray<Weight> weights, Array<Weight> total) {
  nb::gil_scoped_release release;
  sum_below(view_tree(child_ptr, children, static_cast<int64_t>(weights.size())), parent.data(), weights.data(),
            total.data());
}

void tree_leaf_order(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int64_t> n_below,
                     Array<int64_t> start, Array<int32_t> order) {
  nb::gil_scoped_release release;
  find_leaf_order(view_tree(child_ptr, children, static_cast<int64_t>(order.size())), n_below.data(), start.data(),
                  order.data());
}

int64_t tree_renumber(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<double> mass,
                      Array<int64_t> new_child_ptr, Array<int32_t> new_children, Array<int32_t> old_ids) {
  nb::gil_scoped_release release;
  return renumber_nodes(view_tree(child_ptr, children, 0), mass.data(), new_child_ptr.data(), new_children.data(),
                        old_ids.data());
}

Tuple<NumPy<int64_t>, NumPy<int32_t>> contract(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children,
                                               ConstArray<double> mass, int64_t fanout, bool keep_leaves) {
  return to_numpy(contract_tree(view_tree(child_ptr, children, 0), mass.data(), fanout, keep_leaves));
}

Tuple<NumPy<int64_t>, NumPy<int32_t>> contract_by_cost(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children,
                                                       ConstArray<double> visits, ConstArray<double> cost_of,
                                                       int64_t max_children, bool keep_leaves) {
  TreeArrays tree;
  Job job;
  run_job(job, nb::none(), [&] {
    tree = contract_for_cost(view_tree(child_ptr, children, 0), visits.data(), cost_of.data(), max_children,
                             keep_leaves, job);
  });
  return to_numpy(std::move(tree));
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
}

}  // namespace labeltrees::tree
