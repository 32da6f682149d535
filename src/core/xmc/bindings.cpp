// The reader and writer of the XMC repository's text format.
#include "common/bindings.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "xmc/parser.hpp"

namespace labeltrees::xmc {

void bind_xmc(nb::module_& module) {
  nb::class_<XmcParser>(module, "XmcParser")
      .def(nb::init<int>(), nb::arg("index_base"))
      .def(
          "feed",
          [](XmcParser& parser, nb::bytes block) {
            const char* data = block.c_str();
            const size_t size = block.size();
            ReleaseLock release;
            parser.feed(data, size);
          },
          nb::arg("block"))
      .def("finish",
           [](XmcParser& parser) {
             ReleaseLock release;
             parser.finish();
           })
      .def_prop_ro("n_points", &XmcParser::n_points)
      .def_prop_ro("n_features", &XmcParser::n_features)
      .def_prop_ro("n_labels", &XmcParser::n_labels)
      .def_prop_ro("one_based", &XmcParser::one_based)
      .def_prop_ro("top_line", [](XmcParser& parser) { return parser.top().line; })
      .def_prop_ro("n_in_hand", &XmcParser::n_in_hand)
      .def(
          "take_block",
          [](XmcParser& parser) -> Tuple<NumPy<float>, NumPy<int32_t>, NumPy<int64_t>, NumPy<int32_t>, NumPy<int64_t>> {
            XmcRows rows = parser.take_rows();
            return nb::make_tuple(to_numpy(std::move(rows.values)), to_numpy(std::move(rows.features)),
                                  to_numpy(std::move(rows.feature_ptr)), to_numpy(std::move(rows.labels)),
                                  to_numpy(std::move(rows.label_ptr)));
          });
  module.def(
      "write_xmc_lines",
      [](int64_t first, int64_t last, ConstArray<int64_t> feature_ptr, ConstArray<int32_t> features,
         ConstArray<float> values, ConstArray<int64_t> label_ptr, ConstArray<int32_t> labels) {
        std::string text;
        {
          ReleaseLock release;
          write_xmc_lines(first, last, feature_ptr.data(), features.data(), values.data(), label_ptr.data(),
                          labels.data(), text);
        }
        return nb::bytes(text.data(), text.size());
      },
      nb::arg("first"), nb::arg("last"), nb::arg("feature_ptr").noconvert(), nb::arg("features").noconvert(),
      nb::arg("values").noconvert(), nb::arg("label_ptr").noconvert(), nb::arg("labels").noconvert());
}

}  // namespace labeltrees::xmc
