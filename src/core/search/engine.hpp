// Searches over one or several trees, for one query or many.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/threads.hpp"
#include "search/links.hpp"
#include "search/store.hpp"
#include "search/tree.hpp"

namespace labeltrees {

struct SearchTree {
  SearchTree(const ChunkLimits& limits, const int64_t* offsets, const int32_t* feature_rank, bool checked,
             const std::string& source, const TreeView& tree)
      : store(limits, offsets, feature_rank, checked, source), links(tree, source) {}
  SearchStore store;
  TreeLinks links;
};

// Rows of queries: CSR, or, with indptr null, dense rows of n_features values.
struct QueryRows {
  int64_t n;
  const int64_t* indptr;
  const int32_t* features;
  const float* values;
};

// Labels for all queries (indptr null) or for each of them (CSR). labels null: none given.
struct LabelLists {
  const int64_t* indptr = nullptr;
  const int32_t* labels = nullptr;
  int64_t n = 0;

  bool given() const { return labels != nullptr; }
  const int32_t* begin(int64_t query) const { return labels + (indptr ? indptr[query] : 0); }
  int64_t size(int64_t query) const { return indptr ? indptr[query + 1] - indptr[query] : n; }
};

// out: n x k labels, padded with -1, and their scores, padded with 0; the rest n each, null where not wanted.
struct SearchResults {
  int64_t* labels;
  float* scores;
  int64_t* chunks = nullptr;
  int64_t* classifiers = nullptr;
  int32_t* depth = nullptr;
  float* microseconds = nullptr;
  uint8_t* partial = nullptr;
};

// What a thread needs to search; grows with use.
struct SearchScratch {
  std::vector<SearchQuery> queries;  // by tree
  TreeSearch tree_search;
  BestLabels best;
  MarkSet allowed, excluded;
  std::vector<MarkSet> ancestors;    // by tree
  std::vector<ScoreMemo> memos;      // by tree
  std::vector<LabelFilter> filters;  // by tree
  std::vector<int32_t> pooled;
};

class SearchEngine {
 public:
  SearchEngine(int64_t n_features, int32_t n_labels, bool matrices, bool normalize, float power)
      : n_features_(n_features), n_labels_(n_labels), matrices_(matrices), normalize_(normalize), power_(power) {}
  ~SearchEngine();

  void add_tree(const ChunkLimits& limits, const int64_t* offsets, const int32_t* feature_rank, bool checked,
                const std::string& source, const TreeView& tree, const float* ceilings) {
    trees_.push_back(std::make_unique<SearchTree>(limits, offsets, feature_rank, checked, source, tree));
    trees_.back()->store.set_ceilings(ceilings);
  }
  void check_all() const;

  void search(const QueryRows& rows, const SearchOptions& options, const LabelLists& candidates,
              const LabelLists& excluded, int n_threads, Job& job, const SearchResults& results);
  // The nodes that one query's search opens in one tree, in order.
  void trace(int64_t tree, const QueryRows& rows, int64_t query, const SearchOptions& options,
             std::vector<OpenNode>& opened);
  // One query: no more than k labels and scores; returns how many.
  int64_t search_one(const int32_t* features, const float* values, int64_t n, const SearchOptions& options,
                     int64_t* labels, float* scores);
  int64_t search_one_dense(const float* row, const SearchOptions& options, int64_t* labels, float* scores);

  // One query made ready for a tree.
  void set_query(SearchQuery& prepared, size_t tree, const QueryRows& rows, int64_t query) const;

  size_t n_trees() const { return trees_.size(); }
  SearchTree& tree(size_t number) const { return *trees_[number]; }
  int64_t n_features() const { return n_features_; }
  int32_t n_labels() const { return n_labels_; }
  bool matrices() const { return matrices_; }
  float power() const { return power_; }

 private:
  struct Filters {  // for all queries of a call
    MarkSet allowed;
    std::vector<MarkSet> ancestors;
  };
  class Borrowed;

  QueryForm form(size_t tree) const { return {n_features_, trees_[tree]->store.feature_rank(), matrices_, normalize_}; }

  void run(SearchScratch& scratch, const SearchOptions& options, const LabelFilter* filters, SearchStats& stats);
  int64_t finish_one(SearchScratch& scratch, const SearchOptions& options, int64_t* labels, float* scores);
  int64_t write(SearchScratch& scratch, int64_t* labels, float* scores) const;

  int64_t n_features_;
  int32_t n_labels_;
  bool matrices_, normalize_;
  float power_;
  std::vector<std::unique_ptr<SearchTree>> trees_;
  // Scratch of finished calls, for the next ones. No lock: a fork while another thread held it would never end.
  std::array<std::atomic<SearchScratch*>, 16> pool_{};
};

}  // namespace labeltrees
