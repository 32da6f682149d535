// Searches over one or several trees, for one query or many.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "common/threads.hpp"
#include "evidence/evidence.hpp"
#include "search/label_rules.hpp"
#include "search/query.hpp"
#include "search/request.hpp"
#include "search/results.hpp"
#include "search/selection.hpp"
#include "search/store.hpp"
#include "search/tree_search.hpp"

namespace labeltrees::search {

// A tree and its classifiers.
struct StoredTree {
  SearchStore store;
  TreeLinks links;
};

// A query whose search is under way.
struct QueryInFlight {
  int64_t query = 0;  // its place among the request's label lists
  RowCopy copy;
  QueryRow row{};
  std::vector<SearchQuery> queries;  // the query prepared, by tree
  QueryFilters own_filters;          // if the request has lists per query
  QueryFilters* filters = nullptr;
  SearchRequest request;  // of the search in the current tree
  size_t tree = 0;
  TreeSearch search;
  BestLabels best;
  SearchStats stats;
  SearchClock::time_point begin;
  // Several trees.
  std::vector<ScoreMemo> memos;  // by tree
  std::vector<int32_t> pooled;   // the labels found
};

// Working memory of one thread; grows with use.
struct SearchScratch {
  // Searches of a batch that take steps in turn. Each has its own open nodes, which should stay in the cache: 4 to 16
  // took the same time.
  static constexpr size_t kInFlight = 4;

  QueryInFlight flights[kInFlight];
  QueryFilters filters;  // the same for all queries
  evidence::EvidenceScratch evidence;
  std::vector<ScoredLabel> candidates;
  Selection selection;
};

class SearchEngine {
 public:
  SearchEngine(int64_t n_features, int32_t n_labels, bool matrices, bool normalize, const simd::ScoreLink& link)
      : n_features_(n_features), n_labels_(n_labels), matrices_(matrices), normalize_(normalize), link_(link) {}

  void add_tree(const chunk::ChunkLimits& limits, const int64_t* offsets, const int32_t* feature_rank, bool checked,
                const std::string& source, const tree::TreeView& tree, const float* ceilings);
  // The evidence must live as long as this engine; null: none.
  void set_evidence(const evidence::Evidence* evidence) { evidence_ = evidence; }
  void check_all() const;

  void search(const QueryRows& rows, const SearchRequest& request, int n_threads, Job& job,
              const SearchResults& results);
  // The nodes that the search of one query opens in one tree, in order, and the labels it finds, unless null.
  void trace(int64_t tree, const QueryRow& row, const SearchRequest& request, std::vector<OpenNode>& opened,
             std::vector<int32_t>* found = nullptr);
  // The margins of a node's children for every row. The values of the rows are not scaled.
  std::vector<float> margins(size_t tree, int32_t node, const QueryRows& rows) const;
  // One query: writes at most k labels and scores, and returns how many.
  int64_t search_one(const int32_t* features, const float* values, int64_t n, const SearchRequest& request,
                     int64_t* labels, float* scores, SearchStats& stats);
  int64_t search_one_dense(const float* row, const SearchRequest& request, int64_t* labels, float* scores,
                           SearchStats& stats);

  // A set of labels for many searches.
  std::unique_ptr<LabelSet> make_set(const int32_t* ids, int64_t n) const;
  // Packs the classifiers that lead to the labels of a set, which makes exact searches among them faster (SetCeilings).
  // Batches of this many queries do it by themselves: in a large model it takes as long as hundreds of searches.
  static constexpr int64_t kPackedQueries = 512;
  void pack(const LabelSet& set) const;
  std::unique_ptr<LabelWeights> make_weights(const float* weights) const;  // one per label
  // Searches that start after this call never return these labels.
  void set_retired(const int32_t* ids, int64_t n);
  // Queries without features get the most frequent labels from now on. counts: training points per label.
  void set_prior(const int64_t* counts, int64_t n_points) {
    prior_.set(counts, n_labels_, static_cast<double>(n_points));
  }

  // Whether a prepared query gets the most frequent labels instead of a search.
  bool answers_by_prior(const SearchQuery& query) const { return query.empty() && prior_.known(); }
  // Prepares one query for a tree.
  void set_query(SearchQuery& prepared, size_t tree, const QueryRow& row) const;

  size_t n_trees() const { return trees_.size(); }
  StoredTree& tree(size_t number) const { return *trees_[number]; }
  int64_t n_features() const { return n_features_; }
  int32_t n_labels() const { return n_labels_; }
  bool matrices() const { return matrices_; }

 private:
  using Borrowed = ScratchPool<SearchScratch>::Borrowed;

  QueryForm form(size_t tree) const { return {n_features_, trees_[tree]->store.feature_rank(), matrices_, normalize_}; }
  void require_links(const SearchRequest& request) const;
  bool blends(const SearchRequest& request) const { return evidence_ && request.evidence; }
  // The request for the search of the trees: it asks for more labels if the list is chosen from those found.
  SearchRequest searched(const SearchRequest& request) const;
  void start(SearchScratch& scratch, const SearchRequest& request, size_t n_flights) const;
  void set_queries(QueryInFlight& flight, const QueryRow& row) const;
  void set_filters(QueryInFlight& flight, const SearchRequest& request, int64_t query) const;
  // Starts the search for the query that was set. searched: the result of searched(request).
  void begin(QueryInFlight& flight, const SearchRequest& request, const SearchRequest& searched, int64_t query) const;
  void begin_tree(QueryInFlight& flight) const;
  bool step(QueryInFlight& flight) const;  // false if the search has ended
  // Writes at most k labels and scores of a search that has ended, and returns how many.
  int64_t finish(SearchScratch& scratch, QueryInFlight& flight, const SearchRequest& request, int64_t* labels,
                 float* scores) const;
  // The same for a query with features, without calibration.
  int64_t finish_trees(SearchScratch& scratch, QueryInFlight& flight, const SearchRequest& request, int64_t* labels,
                       float* scores) const;
  int64_t finish_prior(SearchScratch& scratch, QueryInFlight& flight, const SearchRequest& request, int64_t* labels,
                       float* scores) const;
  // Leaves the best labels in flight.best with the means of their probabilities, weighted.
  void average_trees(QueryInFlight& flight) const;
  int64_t answer(SearchScratch& scratch, const QueryRow& row, const SearchRequest& request, int64_t* labels,
                 float* scores, SearchStats& stats) const;
  float similarity(int32_t a, int32_t b) const;  // of two labels: the mean over the trees
  // Writes the list of a request from the labels found, best first with the scores to return.
  int64_t write_selected(SearchScratch& scratch, const SearchRequest& request, std::vector<ScoredLabel>& found,
                         int64_t* labels, float* scores) const;

  int64_t n_features_;
  int32_t n_labels_;
  bool matrices_, normalize_;
  simd::ScoreLink link_;
  const evidence::Evidence* evidence_ = nullptr;
  LabelPrior prior_;
  RetiredState retired_;
  std::vector<std::unique_ptr<StoredTree>> trees_;
  ScratchPool<SearchScratch> pool_;
};

}  // namespace labeltrees::search
