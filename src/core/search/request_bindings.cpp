// The bindings of search requests and of the rows of a batch.
#include "search/request_bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <optional>

namespace labeltrees {

namespace {

template <class T>
using Optional = std::optional<ConstArray<T>>;

// The data of an array, which is kept alive in `arrays`; null for None.
template <class T>
const T* keep(const Optional<T>& array, std::vector<nb::object>& arrays) {
  if (!array) return nullptr;
  arrays.push_back(nb::find(*array));
  return array->data();
}

LabelLists label_lists(const Optional<int64_t>& indptr, const Optional<int32_t>& labels,
                       std::vector<nb::object>& arrays) {
  static const int32_t empty = 0;
  if (!labels) return {};
  const int32_t* data = keep(labels, arrays);
  auto n = static_cast<int64_t>(labels->size());
  return {keep(indptr, arrays), n ? data : &empty, n};  // an empty list is a list, so its pointer must not be null
}

void make_request(NativeRequest* self, int64_t k, const std::string& search, int64_t beam, bool prune,
                  int64_t max_chunks, int64_t max_microseconds, Optional<float> discounts,
                  Optional<int64_t> candidate_ptr, Optional<int32_t> candidates, Optional<int64_t> exclude_ptr,
                  Optional<int32_t> exclude) {
  new (self) NativeRequest();
  SearchRequest& request = self->request;
  request.k = k;
  request.mode = search == "paths" ? SearchMode::paths : search == "beam" ? SearchMode::beam : SearchMode::best_first;
  request.beam = beam;
  request.prune = prune;
  request.max_chunks = max_chunks;
  request.max_microseconds = max_microseconds;
  request.discounts = keep(discounts, self->arrays);
  request.candidates = label_lists(candidate_ptr, candidates, self->arrays);
  request.exclude = label_lists(exclude_ptr, exclude, self->arrays);
}

void make_rows(NativeRows* self, int64_t n, Optional<int64_t> indptr, Optional<int32_t> features,
               ConstArray<float> values) {
  new (self) NativeRows();
  self->arrays.push_back(nb::find(values));
  self->rows = {n, keep(indptr, self->arrays), keep(features, self->arrays), values.data()};
}

}  // namespace

void bind_search_request(nb::module_& module) {
  nb::class_<NativeRequest>(module, "SearchRequest")
      .def("__init__", &make_request, nb::kw_only(), nb::arg("k"), nb::arg("search"), nb::arg("beam"), nb::arg("prune"),
           nb::arg("max_chunks"), nb::arg("max_microseconds"), nb::arg("discounts").noconvert().none(),
           nb::arg("candidate_ptr").noconvert().none(), nb::arg("candidates").noconvert().none(),
           nb::arg("exclude_ptr").noconvert().none(), nb::arg("exclude").noconvert().none())
      .def_prop_ro("k", [](const NativeRequest& self) { return self.request.k; });

  nb::class_<NativeRows>(module, "QueryRows")
      .def("__init__", &make_rows, nb::arg("n"), nb::arg("indptr").noconvert().none(),
           nb::arg("features").noconvert().none(), nb::arg("values").noconvert())
      .def_prop_ro("n", [](const NativeRows& self) { return self.rows.n; })
      .def(
          "check",
          [](const NativeRows& self, int64_t n_features, int n_threads) {
            nb::gil_scoped_release release;
            RowsCheck found = check_rows(self.rows, n_features, n_threads);
            return std::make_pair(found.sound, found.rising);
          },
          nb::arg("n_features"), nb::arg("n_threads"));
}

}  // namespace labeltrees
