// A search request, the same for both model families: how many labels to find, and how to look for them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "search/calibration.hpp"

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

struct GroupLimits;   // search/best.hpp
struct LabelSet;      // search/label_rules.hpp
struct LabelWeights;  // search/label_rules.hpp

// Weights of some labels: logarithms for the linear search. labels null: none were given.
struct Boosts {
  const int32_t* labels = nullptr;
  const float* weights = nullptr;
  int64_t n = 0;

  bool given() const { return labels != nullptr; }
};

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
  // The same, prepared. With both a set and a list, labels in either are excluded; candidates have only one.
  const LabelSet* candidate_set = nullptr;
  const LabelSet* exclude_set = nullptr;
  const LabelWeights* weights = nullptr;     // factors of the scores of labels
  Boosts boosts;                             // the same for some labels, on top of `weights`
  const GroupLimits* limits = nullptr;       // at most m labels of each group
  int64_t limit_factor = 1;                  // set by `widened`
  const Calibration* calibration = nullptr;  // makes returned scores probabilities; those of the prior already are
  float threshold = 0.0f;                    // leave out labels whose score is below it, before calibration
  float returned_threshold = 0.0f;           // the same for returned scores
  float diversity = 0.0f;                    // how much the similarity of labels counts against their scores, in [0, 1]
  bool keep_beam = false;                    // the caller has asked for this beam: rules do not make the search exact

  // value: for returned scores.
  void set_threshold(float value) {
    returned_threshold = value;
    threshold = calibration && value > 0.0f ? calibration->lowest_score(value) : value;
  }
  // The same request for answers by the prior, whose scores are shares of points.
  SearchRequest by_prior() const {
    SearchRequest own = *this;
    own.threshold = returned_threshold;
    return own;
  }

  int64_t n_returned() const { return n_candidates > k ? n_candidates : k; }
  bool has_weights() const { return weights || boosts.given(); }
  // Whether labels must be chosen from those found, or some dropped.
  bool selects() const { return limits || threshold > 0.0f || diversity > 0.0f; }
  // Whether rules restrict the labels, change their scores or select from the labels found. A threshold only cuts the
  // list, so it is not one of them.
  bool has_rules() const {
    return candidates.given() || candidate_set || exclude.given() || exclude_set || has_weights() || limits ||
           diversity > 0.0f;
  }
  // The number of labels that diversity chooses from.
  int64_t n_compared() const {
    if (!(diversity > 0.0f)) return k;
    return std::max(k, std::min<int64_t>(10 * k, 100));
  }
  // The same search for n labels, at least k. The limits of groups grow in proportion, so that the n labels contain k
  // that respect the limits, if that many exist.
  SearchRequest widened(int64_t n) const {
    SearchRequest wider = *this;
    wider.limit_factor = std::max<int64_t>(n / std::max<int64_t>(k, 1), 1);
    wider.k = n;
    return wider;
  }
};

// Calls fn(name, member) for each limit that is read from the field of this name of the Python request; None is 0.
template <class Fn>
void each_limit(Fn&& fn) {
  fn("beam", &SearchRequest::beam);
  fn("max_chunks", &SearchRequest::max_chunks);
  fn("max_microseconds", &SearchRequest::max_microseconds);
}

}  // namespace labeltrees::search
