// The results of a batch of searches.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/memory.hpp"
#include "common/threads.hpp"
#include "search/request.hpp"

namespace labeltrees::search {

using SearchClock = std::chrono::steady_clock;

inline float microseconds_since(SearchClock::time_point start) {
  return std::chrono::duration<float, std::micro>(SearchClock::now() - start).count();
}

struct SearchStats {
  int64_t chunks = 0;        // nodes opened
  int64_t classifiers = 0;   // children scored
  int32_t depth = 0;         // of the deepest child scored
  bool partial = false;      // a budget ended the search
  bool no_features = false;  // the query has none: its list is the prior, if that is known
};

// Writes the labels that a search found, best first, and their scores, score_of(entry). Returns how many.
template <class Entry, class ScoreOf>
int64_t write_found(const std::vector<Entry>& found, ScoreOf&& score_of, int64_t* labels, float* scores) {
  int64_t n = 0;
  for (const Entry& entry : found) {
    labels[n] = entry.label;
    scores[n++] = score_of(entry);
  }
  return n;
}

// out: n x k labels, padded with -1, and their scores, padded with 0; the others one per query, or all null.
struct SearchResults {
  int64_t k;
  int64_t* labels;
  float* scores;
  int64_t* chunks = nullptr;
  int64_t* classifiers = nullptr;
  int32_t* depth = nullptr;
  float* microseconds = nullptr;
  uint8_t* partial = nullptr;
  uint8_t* no_features = nullptr;

  int64_t* labels_of(int64_t query) const { return labels + query * k; }
  float* scores_of(int64_t query) const { return scores + query * k; }

  // Pads the lists of a query for which `found` labels have been written, and keeps its statistics.
  void finish(int64_t query, int64_t found, const SearchStats& stats, SearchClock::time_point start) const {
    std::fill(labels_of(query) + found, labels_of(query) + k, -1);
    std::fill(scores_of(query) + found, scores_of(query) + k, 0.0f);
    if (!chunks) return;
    chunks[query] = stats.chunks;
    classifiers[query] = stats.classifiers;
    depth[query] = stats.depth;
    partial[query] = stats.partial;
    no_features[query] = stats.no_features;
    microseconds[query] = microseconds_since(start);
  }
};

// Searches for many queries on several threads, for the engines of both model families.
//
// Calls start(scratch) once per thread, then search(first, end, scratch) for ranges of queries.
template <class Scratch, class Start, class Search>
void search_batch(ScratchPool<Scratch>& pool, int64_t n_queries, int n_threads, Job& job, Start&& start,
                  Search&& search) {
  n_threads = std::max(n_threads, 1);
  // Ranges are long, because fewer searches are in flight at the end of each. But every thread gets several.
  const int64_t per_task = std::clamp<int64_t>(n_queries / (8 * n_threads), 32, 512);
  using Borrowed = typename ScratchPool<Scratch>::Borrowed;
  std::vector<std::unique_ptr<Borrowed>> borrowed(static_cast<size_t>(n_threads));
  parallel_for((n_queries + per_task - 1) / per_task, n_threads, [&](int64_t task, int thread) {
    if (!borrowed[thread]) {
      borrowed[thread] = std::make_unique<Borrowed>(pool);
      start(**borrowed[thread]);
    }
    const int64_t first = task * per_task, end = std::min(n_queries, first + per_task);
    search(first, end, **borrowed[thread]);
    job.done += end - first;
  });
}

}  // namespace labeltrees::search
