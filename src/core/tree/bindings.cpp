// Label trees' flat arrays: checking, parents, depths, sums, orders.
#include "common/bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "tree/arrays.hpp"

namespace labeltrees {

namespace {

template <class Weight>
void sum_weights(ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> parent,
                 ConstArray<Weight> weights, Array<Weight> total) {
  const TreeView tree = view_tree(child_ptr, children, static_cast<int64_t>(weights.size()));
  nb::gil_scoped_release release;
  sum_below(tree, parent.data(), weights.data(), total.data());
}

}  // namespace

void bind_tree(nb::module_& module) {
  module.def(
      "tree_parents",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, Array<int32_t> parent,
         Array<int32_t> label_parent) {
        TreeCheck check;
        {
          const TreeView tree = view_tree(child_ptr, children, static_cast<int64_t>(label_parent.size()));
          nb::gil_scoped_release release;
          check = find_parents(tree, parent.data(), label_parent.data());
        }
        return std::tuple(static_cast<int>(check.fault), check.node, check.position);
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("parent").noconvert(),
      nb::arg("label_parent").noconvert());
  module.def(
      "tree_depths",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> parent,
         ConstArray<int32_t> label_parent, Array<int32_t> node_depth, Array<int32_t> label_depth) {
        const TreeView tree = view_tree(child_ptr, children, static_cast<int64_t>(label_parent.size()));
        nb::gil_scoped_release release;
        find_depths(tree, parent.data(), label_parent.data(), node_depth.data(), label_depth.data());
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("parent").noconvert(),
      nb::arg("label_parent").noconvert(), nb::arg("node_depth").noconvert(), nb::arg("label_depth").noconvert());
  module.def("tree_mass", &sum_weights<double>, nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(),
             nb::arg("parent").noconvert(), nb::arg("weights").noconvert(), nb::arg("total").noconvert());
  module.def("tree_counts", &sum_weights<int64_t>, nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(),
             nb::arg("parent").noconvert(), nb::arg("weights").noconvert(), nb::arg("total").noconvert());
  module.def(
      "tree_leaf_order",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int64_t> n_below, Array<int64_t> start,
         Array<int32_t> order) {
        const TreeView tree = view_tree(child_ptr, children, 0);
        nb::gil_scoped_release release;
        find_leaf_order(tree, n_below.data(), start.data(), order.data());
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("n_below").noconvert(),
      nb::arg("start").noconvert(), nb::arg("order").noconvert());
  module.def(
      "tree_renumber",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<double> mass,
         Array<int64_t> new_child_ptr, Array<int32_t> new_children, Array<int32_t> old_ids) {
        const TreeView tree = view_tree(child_ptr, children, 0);
        nb::gil_scoped_release release;
        return renumber_nodes(tree, mass.data(), new_child_ptr.data(), new_children.data(), old_ids.data());
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("mass").noconvert(),
      nb::arg("new_child_ptr").noconvert(), nb::arg("new_children").noconvert(), nb::arg("old_ids").noconvert());
}

}  // namespace labeltrees
