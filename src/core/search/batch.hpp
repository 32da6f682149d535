// Many queries on some threads, for the engines of both model families.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "common/scratch_pool.hpp"
#include "common/threads.hpp"
#include "search/results.hpp"

namespace labeltrees {

// Calls start(scratch) once per thread, then search(query, scratch, labels, scores, stats) for every query, which
// returns how many labels it wrote.
template <class Scratch, class Start, class Search>
void search_batch(ScratchPool<Scratch>& pool, int64_t n_queries, int n_threads, Job& job, const SearchResults& results,
                  Start&& start, Search&& search) {
  constexpr int64_t kQueriesPerTask = 32;
  using Borrowed = typename ScratchPool<Scratch>::Borrowed;
  std::vector<std::unique_ptr<Borrowed>> borrowed(static_cast<size_t>(std::max(n_threads, 1)));
  parallel_for((n_queries + kQueriesPerTask - 1) / kQueriesPerTask, n_threads, [&](int64_t task, int thread) {
    if (!borrowed[thread]) {
      borrowed[thread] = std::make_unique<Borrowed>(pool);
      start(**borrowed[thread]);
    }
    Scratch& scratch = **borrowed[thread];
    const int64_t first = task * kQueriesPerTask, end = std::min(n_queries, first + kQueriesPerTask);
    for (int64_t query = first; query < end; ++query) {
      job.check();
      auto begin = results.microseconds ? SearchClock::now() : SearchClock::time_point{};
      SearchStats stats;
      int64_t found = search(query, scratch, results.labels_of(query), results.scores_of(query), stats);
      results.finish(query, found, stats, begin);
    }
    job.done += end - first;
  });
}

}  // namespace labeltrees
