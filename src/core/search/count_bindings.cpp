// The methods of the search engine that count and time searches.
#include "search/counts.hpp"
#include "search/native_engine.hpp"
#include "search/request_bindings.hpp"

namespace labeltrees {

namespace {

nb::tuple count(NativeEngine& native, const NativeRows& rows, const NativeRequest& request) {
  const int64_t n = rows.rows.n;
  std::vector<int64_t> counts(static_cast<size_t>(n * SearchCounts::kFields)), ends = {0};
  std::vector<Visit> visits;
  Job job;
  run_job(job, nb::none(), [&] {
    SearchCounter counter(native.engine);
    for (int64_t query = 0; query < n; ++query) {
      job.check();
      counter.count(rows.rows, query, request.request, visits).write(counts.data() + query * SearchCounts::kFields);
      ends.push_back(static_cast<int64_t>(visits.size()));
    }
  });
  std::vector<int32_t> nodes, depths, trees;
  std::vector<float> scores;
  std::vector<uint8_t> on_path;
  for (const Visit& visit : visits) {
    nodes.push_back(visit.node.node);
    depths.push_back(visit.node.depth);
    scores.push_back(visit.node.score);
    trees.push_back(visit.tree);
    on_path.push_back(visit.on_path);
  }
  return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(ends)), to_numpy(std::move(nodes)),
                        to_numpy(std::move(depths)), to_numpy(std::move(scores)), to_numpy(std::move(trees)),
                        to_numpy(std::move(on_path)));
}

}  // namespace

// Queries are timed on the calling thread, so that its hardware counters count them: as many as `microseconds` has
// entries, from `first` on.
void bind_search_counts(nb::class_<NativeEngine>& engine) {
  engine.def("count", &count, nb::arg("rows"), nb::arg("request"))
      .def(
          "time_each",
          [](NativeEngine& native, const NativeRows& rows, const NativeRequest& request, int64_t first,
             Array<float> microseconds) {
            nb::gil_scoped_release release;
            time_queries(native.engine, rows.rows, request.request, first, static_cast<int64_t>(microseconds.size()),
                         microseconds.data());
          },
          nb::arg("rows"), nb::arg("request"), nb::arg("first"), nb::arg("microseconds").noconvert())
      .def(
          "time_scoring",
          [](NativeEngine& native, const NativeRows& rows, int64_t first, ConstArray<int64_t> ends,
             ConstArray<int32_t> nodes, ConstArray<int32_t> trees, Array<float> microseconds) {
            nb::gil_scoped_release release;
            time_scoring(native.engine, rows.rows, first, static_cast<int64_t>(microseconds.size()), ends.data(),
                         nodes.data(), trees.data(), microseconds.data());
          },
          nb::arg("rows"), nb::arg("first"), nb::arg("ends").noconvert(), nb::arg("nodes").noconvert(),
          nb::arg("trees").noconvert(), nb::arg("microseconds").noconvert());
}

}  // namespace labeltrees
