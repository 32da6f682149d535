// The choice of vector instructions, and the kernels one by one for the tests.
#include "common/bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "simd/kernels.hpp"

namespace labeltrees::simd {

void bind_simd(nb::module_& module) {
  module.def("available_kernels", [] {
    std::vector<std::string> names;
    for (auto name = available_kernels(); *name; ++name) names.emplace_back(*name);
    return names;
  });
  module.def("active_kernels", [] { return std::string(active_kernels().name); });
  module.def("use_kernels", [](const std::string& name) { return use_kernels(name.c_str()); }, nb::arg("name"));
  module.def(
      "gather_dot",
      [](ConstArray<int32_t> columns, ConstArray<float> values, ConstArray<float> dense) {
        return active_kernels().gather_dot(columns.data(), values.data(), static_cast<int64_t>(columns.size()),
                                           dense.data());
      },
      nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("dense").noconvert());
  module.def(
      "gather_dot_pairs",
      [](ConstArray<int32_t> columns, ConstArray<float> values, ConstArray<float> pairs) {
        float sums[2];
        active_kernels().gather_dot_pairs(columns.data(), values.data(), static_cast<int64_t>(columns.size()),
                                          pairs.data(), sums);
        return std::pair{sums[0], sums[1]};
      },
      nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("pairs").noconvert());
  module.def(
      "dense_dot",
      [](ConstArray<float> a, ConstArray<float> b) {
        return active_kernels().dense_dot(a.data(), b.data(), static_cast<int64_t>(a.size()));
      },
      nb::arg("a").noconvert(), nb::arg("b").noconvert());
  module.def(
      "sum_present",
      [](ConstArray<uint64_t> row, ConstArray<uint64_t> query, ConstArray<uint16_t> weights) {
        return active_kernels().sum_present(row.data(), query.data(), static_cast<int64_t>(row.size()), weights.data());
      },
      nb::arg("row").noconvert(), nb::arg("query").noconvert(), nb::arg("weights").noconvert());
}

}  // namespace labeltrees::simd
