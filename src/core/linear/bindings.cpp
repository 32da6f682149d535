// The trainer of the linear models.
#include "common/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "linear/memory.hpp"
#include "linear/train.hpp"

namespace labeltrees::linear {

namespace {

template <class T>
using MaybeArray = std::optional<ConstArray<T>>;

template <class T>
NumPy<T> hand_over(std::unique_ptr<T[]> values, int64_t n) {
  T* data = values.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return NumPy<T>(data, {static_cast<size_t>(n)}, owner);
}

template <class T>
const T* data_or_null(const MaybeArray<T>& array) {
  return array ? array->data() : nullptr;
}

// Reads the fields of a LinearSettings of models/linear/settings.py, which has checked them. C is given per task.
LinearOptions read_options(nb::handle settings, uint64_t seed) {
  return {&find_loss(read_field<std::string>(settings, "loss")),
          1.0f,
          read_field<float>(settings, "eps"),
          read_field<int>(settings, "max_iter"),
          read_field<float>(settings, "bias"),
          read_field<float>(settings, "prune_below"),
          read_field<bool>(settings, "balanced"),
          seed};
}

// Points, labels and a tree, and the arrays that hold them.
struct LinearProblem {
  int64_t n_points;
  int32_t n_features, n_labels;
  MaybeArray<int64_t> x_indptr;
  MaybeArray<int32_t> x_columns;
  ConstArray<float> x_values;
  ConstArray<int64_t> y_indptr;
  ConstArray<int32_t> y_columns;
  MaybeArray<float> y_values;
  ConstArray<int64_t> child_ptr;
  ConstArray<int32_t> children;
  MaybeArray<float> point_weight, label_cost;
  MaybeArray<int64_t> extra_indptr;
  MaybeArray<int32_t> extra_points;
  MaybeArray<int64_t> edge_ids;
  int64_t n_whole;
  std::unique_ptr<Occurrences> occurrences = nullptr;  // made on first use

  Points points() const {
    return {n_points, n_features, data_or_null(x_indptr), data_or_null(x_columns), x_values.data(), n_whole};
  }
  PointLists labels() const { return {y_indptr.data(), y_columns.data(), data_or_null(y_values)}; }
  tree::TreeView tree() const { return tree::view_tree(child_ptr, children, n_labels); }
  bool weighted(bool balanced) const { return point_weight || label_cost || y_values || balanced; }

  TrainInput input(int64_t max_memory, const Job& job) {
    if (!occurrences)
      occurrences = std::make_unique<Occurrences>(tree(), labels(), n_points, n_labels, data_or_null(label_cost), job);
    return {points(),
            labels(),
            n_labels,
            tree(),
            data_or_null(point_weight),
            data_or_null(label_cost),
            data_or_null(extra_indptr),
            data_or_null(extra_points),
            *occurrences,
            data_or_null(edge_ids),
            max_memory};
  }

  Tuple<int64_t, int64_t, int64_t, int64_t> memory(bool balanced, int n_threads) const {
    MemoryNeed need{};
    {
      ReleaseLock release;
      need = MemoryPlan(points(), labels(), tree(), n_labels, data_or_null(extra_indptr), weighted(balanced))
                 .need(n_threads);
    }
    return nb::make_tuple(need.fixed, need.largest_group, need.groups, need.result);
  }

  // Upper bounds per node: the pairs of a point and a label, rows, values of the rows, and bytes for training.
  Tuple<NumPy<int64_t>, NumPy<int64_t>, NumPy<int64_t>, NumPy<int64_t>> node_sizes(bool balanced) const {
    std::vector<int64_t> pairs, rows, values, bytes;
    {
      ReleaseLock release;
      const MemoryPlan plan(points(), labels(), tree(), n_labels, data_or_null(extra_indptr), weighted(balanced));
      for (int64_t node = 0; node < tree().n_nodes; ++node) {
        pairs.push_back(plan.size(node).pairs);
        rows.push_back(plan.size(node).rows);
        values.push_back(plan.size(node).values);
        bytes.push_back(plan.rows_bytes(node) + plan.group_bytes(node));
      }
    }
    return nb::make_tuple(to_numpy(std::move(pairs)), to_numpy(std::move(rows)), to_numpy(std::move(values)),
                          to_numpy(std::move(bytes)));
  }

  // The losses of the classifiers of some groups on held-out points at each cost (n_tasks, n_costs). Per task, also the
  // loss of constant margins and the number of held-out positives.
  Tuple<NumPy<double>, NumPy<double>, NumPy<int64_t>> validate(ConstArray<int64_t> nodes,
                                                               ConstArray<int64_t> first_edges,
                                                               ConstArray<int64_t> n_edges, ConstArray<int64_t> strides,
                                                               ConstArray<uint8_t> held_out, ConstArray<float> costs,
                                                               nb::handle settings, uint64_t seed, int n_threads) {
    const LinearOptions options = read_options(settings, seed);
    std::vector<SampledEdges> tasks;
    for (size_t i = 0; i < nodes.size(); ++i)
      tasks.push_back({nodes.data()[i], first_edges.data()[i], n_edges.data()[i], strides.data()[i]});
    const std::vector<float> values(costs.data(), costs.data() + costs.size());
    Job job;
    std::vector<HeldOutLosses> found;
    run_job(job, nb::none(),
            [&] { found = validate_linear(input(0, job), tasks, options, values, held_out.data(), n_threads, job); });
    std::vector<double> losses, constants;
    std::vector<int64_t> positives;
    for (const HeldOutLosses& task : found) {
      losses.insert(losses.end(), task.at_cost.begin(), task.at_cost.end());
      constants.push_back(task.constant);
      positives.push_back(task.n_positive);
    }
    return nb::make_tuple(to_numpy(std::move(losses)), to_numpy(std::move(constants)), to_numpy(std::move(positives)));
  }

  Tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<float>, NumPy<float>> train(
      ConstArray<int64_t> nodes, ConstArray<int64_t> first_edges, ConstArray<int64_t> n_edges, ConstArray<float> costs,
      nb::handle settings, uint64_t seed, int n_threads, nb::object progress, MaybeArray<int64_t> start_indptr,
      MaybeArray<int32_t> start_features, MaybeArray<float> start_values, MaybeArray<float> start_bias,
      MaybeArray<uint8_t> is_new) {
    const LinearOptions options = read_options(settings, seed);
    const StartWeights start{data_or_null(start_indptr), data_or_null(start_features), data_or_null(start_values),
                             data_or_null(start_bias), data_or_null(is_new)};
    const auto max_memory = read_field<int64_t>(settings, "max_memory", 0);
    std::vector<NodeTask> tasks;
    for (size_t i = 0; i < nodes.size(); ++i)
      tasks.push_back({nodes.data()[i], first_edges.data()[i], n_edges.data()[i], costs.data()[i]});
    Job job;
    LinearWeights weights;
    run_job(job, progress, [&] {
      TrainInput whole = input(max_memory, job);
      if (start_indptr) whole.start = &start;
      weights = train_linear(whole, tasks, options, n_threads, job);
    });
    const int64_t n = points().dense() ? static_cast<int64_t>(weights.bias.size()) * n_features : weights.indptr.back();
    return nb::make_tuple(to_numpy(std::move(weights.indptr)),
                          hand_over(std::move(weights.features), weights.features ? n : 0),
                          hand_over(std::move(weights.values), n), to_numpy(std::move(weights.bias)));
  }
};

}  // namespace

void bind_linear(nb::module_& module) {
  nb::class_<LinearProblem>(module, "LinearProblem")
      .def(
          "__init__",
          [](LinearProblem* self, int64_t n_points, int32_t n_features, int32_t n_labels, MaybeArray<int64_t> x_indptr,
             MaybeArray<int32_t> x_columns, ConstArray<float> x_values, ConstArray<int64_t> y_indptr,
             ConstArray<int32_t> y_columns, MaybeArray<float> y_values, ConstArray<int64_t> child_ptr,
             ConstArray<int32_t> children, MaybeArray<float> point_weight, MaybeArray<float> label_cost,
             MaybeArray<int64_t> extra_indptr, MaybeArray<int32_t> extra_points, MaybeArray<int64_t> edge_ids,
             int64_t n_whole) {
            new (self) LinearProblem{n_points,   n_features,   n_labels,     x_indptr,  x_columns, x_values,
                                     y_indptr,   y_columns,    y_values,     child_ptr, children,  point_weight,
                                     label_cost, extra_indptr, extra_points, edge_ids,  n_whole};
          },
          nb::kw_only(), nb::arg("n_points"), nb::arg("n_features"), nb::arg("n_labels"),
          nb::arg("x_indptr").noconvert().none(), nb::arg("x_columns").noconvert().none(),
          nb::arg("x_values").noconvert(), nb::arg("y_indptr").noconvert(), nb::arg("y_columns").noconvert(),
          nb::arg("y_values").noconvert().none(), nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(),
          nb::arg("point_weight").noconvert().none(), nb::arg("label_cost").noconvert().none(),
          nb::arg("extra_indptr").noconvert().none(), nb::arg("extra_points").noconvert().none(),
          nb::arg("edge_ids").noconvert().none() = nb::none(), nb::arg("n_whole") = 0)
      .def("memory", &LinearProblem::memory, nb::arg("balanced"), nb::arg("n_threads"))
      .def("node_sizes", &LinearProblem::node_sizes, nb::arg("balanced"))
      .def("validate", &LinearProblem::validate, nb::kw_only(), nb::arg("nodes").noconvert(),
           nb::arg("first_edges").noconvert(), nb::arg("n_edges").noconvert(), nb::arg("strides").noconvert(),
           nb::arg("held_out").noconvert(), nb::arg("costs").noconvert(), nb::arg("settings"), nb::arg("seed"),
           nb::arg("n_threads"))
      .def("train", &LinearProblem::train, nb::kw_only(), nb::arg("nodes").noconvert(),
           nb::arg("first_edges").noconvert(), nb::arg("n_edges").noconvert(), nb::arg("costs").noconvert(),
           nb::arg("settings"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("progress").none(),
           nb::arg("start_indptr").noconvert().none() = nb::none(),
           nb::arg("start_features").noconvert().none() = nb::none(),
           nb::arg("start_values").noconvert().none() = nb::none(),
           nb::arg("start_bias").noconvert().none() = nb::none(), nb::arg("is_new").noconvert().none() = nb::none());
}

}  // namespace labeltrees::linear
