// A search request, the same for both model families: how many labels to find, and how to look for them.
#pragma once

#include <cstdint>

namespace labeltrees::search {

enum class SearchMode : int32_t { best_first, paths };

// Label ids: one list for all queries (indptr null) or one list per query (CSR). labels null: no list was given.
struct LabelLists {
  const int64_t* indptr = nullptr;
  const int32_t* labels = nullptr;
  int64_t n = 0;

  bool given() const { return labels != nullptr; }
  bool per_query() const { return indptr != nullptr; }
  const int32_t* begin(int64_t query) const { return labels + (indptr ? indptr[query] : 0); }
  int64_t size(int64_t query) const { return indptr ? indptr[query + 1] - indptr[query] : n; }
};

struct LabelSet;      // search/label_rules.hpp
struct LabelWeights;  // search/label_rules.hpp

// The text search has no beam and no evidence: it ignores mode, beam and evidence.
struct SearchRequest {
  int64_t k = 5;             // labels to find
  int64_t n_candidates = 0;  // return this many of the labels scored during the search, if that is more than k
  SearchMode mode = SearchMode::best_first;
  int64_t beam = 0;              // nodes opened per depth, or paths; 0: no limit
  bool evidence = true;          // adjust the scores of the labels found by the model's evidence, if it has any
  int64_t max_chunks = 0;        // nodes opened per query; 0: no limit
  int64_t max_microseconds = 0;  // 0: no limit
  // How much the score of each node is lowered before it is compared, one tree after another; null: not at all.
  // The linear search takes discounts on the log scale. The text search, whose scores are products, takes
  // exp(-discount) and multiplies.
  const float* discounts = nullptr;
  LabelLists candidates;  // the labels allowed
  LabelLists exclude;     // labels not to return
  // The same, prepared. With both a set and a list, labels in either are excluded; there is only one of candidates.
  const LabelSet* candidate_set = nullptr;
  const LabelSet* exclude_set = nullptr;
  const LabelWeights* weights = nullptr;  // what the scores of labels are multiplied with

  int64_t n_returned() const { return n_candidates > k ? n_candidates : k; }
};

// Calls fn(name, member) for each limit that is read from the field of this name of the Python request; None is 0.
template <class Fn>
void each_limit(Fn&& fn) {
  fn("beam", &SearchRequest::beam);
  fn("max_chunks", &SearchRequest::max_chunks);
  fn("max_microseconds", &SearchRequest::max_microseconds);
}

}  // namespace labeltrees::search
