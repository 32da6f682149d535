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

// Working memory of one thread; grows with use.
struct SearchScratch {
  RowCopy row;                       // of a batch
  std::vector<SearchQuery> queries;  // by tree
  std::vector<ScoreMemo> memos;      // by tree
  TreeSearch tree_search;
  BestLabels best;
  QueryFilters filters;
  std::vector<int32_t> pooled;
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
  // The margins of a node's children for every row, whose values are used as they are, without scaling.
  std::vector<float> margins(size_t tree, int32_t node, const QueryRows& rows) const;
  // One query: writes at most k labels and scores, and returns how many.
  int64_t search_one(const int32_t* features, const float* values, int64_t n, const SearchRequest& request,
                     int64_t* labels, float* scores, SearchStats& stats);
  int64_t search_one_dense(const float* row, const SearchRequest& request, int64_t* labels, float* scores,
                           SearchStats& stats);

  // A set of labels for many searches.
  std::unique_ptr<LabelSet> make_set(const int32_t* ids, int64_t n) const;
  std::unique_ptr<LabelWeights> make_weights(const float* weights) const;  // one per label
  // No search returns these labels from now on; those before this call may.
  void set_retired(const int32_t* ids, int64_t n);
  // Queries without features get the most frequent labels from now on. counts: of the training points of each label.
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
  float similarity(int32_t a, int32_t b) const;  // of two labels: the mean over the trees
  // Writes the list of a request from the labels found, best first with the scores to return.
  int64_t write_selected(SearchScratch& scratch, const SearchRequest& request, std::vector<ScoredLabel>& found,
                         int64_t* labels, float* scores) const;
  void start(SearchScratch& scratch) const;
  bool blends(const SearchRequest& request) const { return evidence_ && request.evidence; }
  // Searches for the query prepared in scratch.queries; `query` is its place among the request's label lists.
  int64_t run(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels, float* scores,
              SearchStats& stats);
  // The same for a query with features, without calibration.
  int64_t run_trees(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels, float* scores,
                    SearchStats& stats);
  void set_filters(SearchScratch& scratch, const SearchRequest& request, int64_t query);
  // Leaves the k best labels in scratch.best: with sums of logs for one tree, else with means of probabilities.
  void find(SearchScratch& scratch, const SearchRequest& request, int64_t query, SearchStats& stats);
  int64_t run_prior(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels,
                    float* scores);
  int64_t run_blended(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels,
                      float* scores, SearchStats& stats);
  void run_ensemble(SearchScratch& scratch, const SearchRequest& request, SearchStats& stats);

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
