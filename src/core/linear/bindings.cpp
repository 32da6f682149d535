// The trainer of the linear models.
#include "common/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "linear/memory.hpp"
#include "linear/train.hpp"

namespace labeltrees {

namespace {

template <class T>
using MaybeArray = std::optional<ConstArray<T>>;

template <class T>
nb::ndarray<T, nb::numpy, nb::ndim<1>> hand_over(std::unique_ptr<T[]> values, int64_t n) {
  T* data = values.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<1>>(data, {static_cast<size_t>(n)}, owner);
}

template <class T>
const T* data_or_null(const MaybeArray<T>& array) {
  return array ? array->data() : nullptr;
}

// Points, labels and a tree, held while they are worked on.
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

  TrainInput input() const {
    TrainInput input{};
    input.points = {n_points, n_features, data_or_null(x_indptr), data_or_null(x_columns), x_values.data()};
    input.labels = {y_indptr.data(), y_columns.data(), data_or_null(y_values)};
    input.n_labels = n_labels;
    input.tree = view_tree(child_ptr, children, n_labels);
    input.point_weight = data_or_null(point_weight);
    input.label_cost = data_or_null(label_cost);
    input.extra_indptr = data_or_null(extra_indptr);
    input.extra_points = data_or_null(extra_points);
    return input;
  }

  nb::tuple memory(bool balanced, int n_threads) const {
    const TrainInput all = input();
    LinearOptions options{};
    options.balanced = balanced;
    MemoryNeed need{};
    {
      nb::gil_scoped_release release;
      need = MemoryPlan(all.points, all.labels, all.tree, n_labels, all.extra_indptr, all.weighted(options))
                 .need(n_threads);
    }
    return nb::make_tuple(need.fixed, need.largest_task, need.tasks, need.result);
  }

  nb::tuple train(const std::string& loss, float cost, float eps, int max_iter, float bias_value, float prune_below,
                  bool balanced, uint64_t seed, int64_t max_memory, int n_threads, nb::object progress) const {
    TrainInput all = input();
    all.max_memory = max_memory;
    const LinearOptions options{&find_loss(loss), cost, eps, max_iter, bias_value, prune_below, balanced, seed};
    Job job;
    LinearWeights weights;
    run_job(job, progress, [&] { weights = train_linear(all, options, n_threads, job); });
    const int64_t n = all.points.dense() ? all.tree.n_edges() * n_features : weights.indptr.back();
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
             MaybeArray<int64_t> extra_indptr, MaybeArray<int32_t> extra_points) {
            new (self) LinearProblem{n_points, n_features,   n_labels,   x_indptr,     x_columns,
                                     x_values, y_indptr,     y_columns,  y_values,     child_ptr,
                                     children, point_weight, label_cost, extra_indptr, extra_points};
          },
          nb::kw_only(), nb::arg("n_points"), nb::arg("n_features"), nb::arg("n_labels"),
          nb::arg("x_indptr").noconvert().none(), nb::arg("x_columns").noconvert().none(),
          nb::arg("x_values").noconvert(), nb::arg("y_indptr").noconvert(), nb::arg("y_columns").noconvert(),
          nb::arg("y_values").noconvert().none(), nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(),
          nb::arg("point_weight").noconvert().none(), nb::arg("label_cost").noconvert().none(),
          nb::arg("extra_indptr").noconvert().none(), nb::arg("extra_points").noconvert().none())
      .def("memory", &LinearProblem::memory, nb::arg("balanced"), nb::arg("n_threads"))
      .def("train", &LinearProblem::train, nb::kw_only(), nb::arg("loss"), nb::arg("cost"), nb::arg("eps"),
           nb::arg("max_iter"), nb::arg("bias_value"), nb::arg("prune_below"), nb::arg("balanced"), nb::arg("seed"),
           nb::arg("max_memory"), nb::arg("n_threads"), nb::arg("progress").none());
}

}  // namespace labeltrees
