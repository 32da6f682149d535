// The arguments of native searches as Python objects: a request and the rows of a batch, each with the arrays that it
// points into.
#pragma once

#include <vector>

#include "common/bindings.hpp"
#include "search/query_rows.hpp"
#include "search/request.hpp"

namespace labeltrees {

struct NativeRequest {
  SearchRequest request;
  std::vector<nb::object> arrays;
};

struct NativeRows {
  QueryRows rows;
  std::vector<nb::object> arrays;
};

// Runs a search of n queries without the GIL: with a thread that watches for Ctrl-C where it is long enough for that to
// matter.
template <class Work>
void run_search(Job& job, int64_t n_queries, Work&& work) {
  if (n_queries >= 1000) return run_job(job, nb::none(), work);
  nb::gil_scoped_release release;
  work();
}

}  // namespace labeltrees
