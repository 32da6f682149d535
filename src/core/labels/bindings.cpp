// The label embeddings and the greedy cover.
#include "common/bindings.hpp"

#include <cmath>
#include <vector>

#include "labels/cover.hpp"
#include "labels/label_rows.hpp"
#include "labels/pifa.hpp"

namespace labeltrees::labels {

namespace {

Indicator as_indicator(const ConstArray<int64_t>& indptr, const ConstArray<int32_t>& indices, int64_t n_columns) {
  return {indptr.data(), indices.data(), static_cast<int64_t>(indptr.size()) - 1, n_columns};
}

LabelPoints as_label_points(const ConstArray<int64_t>& label_ptr, const ConstArray<int32_t>& points) {
  return {label_ptr.data(), points.data(), static_cast<int64_t>(label_ptr.size()) - 1};
}

auto row_lengths(ConstArray<int64_t> indptr, ConstArray<float> values) {
  std::vector<double> lengths(indptr.size() - 1);
  for (size_t row = 0; row < lengths.size(); ++row) {
    const int64_t start = indptr.data()[row], end = indptr.data()[row + 1];
    lengths[row] = std::sqrt(sum_of_squares(values.data() + start, end - start));
  }
  return to_numpy(std::move(lengths));
}

Tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<float>> keep_largest(ConstArray<int64_t> indptr,
                                                                 ConstArray<int32_t> columns, ConstArray<float> values,
                                                                 int64_t most) {
  SparseResult result;
  {
    ReleaseLock release;
    const auto n_rows = static_cast<int64_t>(indptr.size()) - 1;
    result = largest_values({indptr.data(), columns.data(), values.data(), 0}, n_rows, most);
  }
  return nb::make_tuple(to_numpy(std::move(result.indptr)), to_numpy(std::move(result.indices)),
                        to_numpy(std::move(result.values)));
}

}  // namespace

void bind_labels(nb::module_& module) {
  module.def(
      "transpose_indicator",
      [](ConstArray<int64_t> indptr, ConstArray<int32_t> indices,
         int64_t n_columns) -> Tuple<NumPy<int64_t>, NumPy<int32_t>> {
        std::vector<int64_t> column_ptr;
        std::vector<int32_t> rows;
        {
          ReleaseLock release;
          transpose(as_indicator(indptr, indices, n_columns), column_ptr, rows);
        }
        return nb::make_tuple(to_numpy(std::move(column_ptr)), to_numpy(std::move(rows)));
      },
      nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("n_columns"));
  module.def(
      "greedy_cover",
      [](ConstArray<int64_t> indptr, ConstArray<int32_t> indices, ConstArray<double> point_weights, bool whole_weights,
         Array<double> covered) {
        Job job;
        run_job(job, nb::none(), [&] {
          greedy_cover(as_indicator(indptr, indices, static_cast<int64_t>(covered.size())), point_weights.data(),
                       whole_weights, covered.data(), job);
        });
      },
      nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("point_weights").noconvert(),
      nb::arg("whole_weights"), nb::arg("covered").noconvert());
  module.def("row_lengths", &row_lengths, nb::arg("indptr").noconvert(), nb::arg("values").noconvert());
  module.def("largest_values", &keep_largest, nb::arg("indptr").noconvert(), nb::arg("columns").noconvert(),
             nb::arg("values").noconvert(), nb::arg("most"));
  module.def(
      "pifa_sparse",
      [](ConstArray<int64_t> label_ptr, ConstArray<int32_t> points, ConstArray<int64_t> indptr,
         ConstArray<int32_t> indices, ConstArray<float> values, int64_t n_columns,
         int n_threads) -> Tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<float>> {
        Job job;
        SparseResult result;
        run_job(job, nb::none(), [&] {
          pifa_sparse(as_label_points(label_ptr, points), {indptr.data(), indices.data(), values.data(), n_columns},
                      n_threads, result, job);
        });
        return nb::make_tuple(to_numpy(std::move(result.indptr)), to_numpy(std::move(result.indices)),
                              to_numpy(std::move(result.values)));
      },
      nb::arg("label_ptr").noconvert(), nb::arg("points").noconvert(), nb::arg("indptr").noconvert(),
      nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"), nb::arg("n_threads"));
  module.def(
      "pifa_dense",
      [](ConstArray<int64_t> label_ptr, ConstArray<int32_t> points, ConstArray<float> x, int64_t n_columns,
         int n_threads, Array<float> out) {
        Job job;
        run_job(job, nb::none(), [&] {
          pifa_dense(as_label_points(label_ptr, points), x.data(), n_columns, n_threads, out.data(), job);
        });
      },
      nb::arg("label_ptr").noconvert(), nb::arg("points").noconvert(), nb::arg("x").noconvert(), nb::arg("n_columns"),
      nb::arg("n_threads"), nb::arg("out").noconvert());
}

}  // namespace labeltrees::labels
