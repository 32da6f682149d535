// What searches do, counted by going over them again in plain code: the searches themselves count nothing.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "search/engine.hpp"

namespace labeltrees {

// Of one query, all trees together.
struct SearchCounts {
  int64_t nonzeros = 0;    // features of the query
  int64_t visits = 0;      // nodes opened
  int64_t lookups = 0;     // features looked up: in every part of every chunk that has an index, for each of its levels
  int64_t hits = 0;        // of the features, those with a row
  int64_t weights = 0;     // added one by one: of single weights and listed pairs
  int64_t vectors = 0;     // added 16 at a time: of full rows, rows told by masks, and matrices
  int64_t children = 0;    // scored
  int64_t heap_steps = 0;  // nodes taken from the open ones, chunks entered among them, labels entered in the list
  int64_t path_visits = 0;  // of the visits, those for labels that another tree found

  static constexpr int kFields = 9;
  void write(int64_t* out) const;
};

// A node that was opened.
struct Visit {
  OpenNode node;
  int32_t tree;
  bool on_path;  // not by the tree's own search: for a label that another tree found
};

class SearchCounter {
 public:
  explicit SearchCounter(SearchEngine& engine);

  // The counts of one query's search; its visits are added to `visits`, tree by tree, in order.
  SearchCounts count(const QueryRows& rows, int64_t query, const SearchOptions& options, std::vector<Visit>& visits);

 private:
  // The node's chunk once more: counts, and the scores of its children.
  void open(size_t tree, const OpenNode& node, const SearchOptions& options, BestLabels* best, SearchCounts& counts);

  SearchEngine& engine_;
  std::vector<SearchQuery> queries_;                                // by tree
  std::vector<std::unordered_map<int32_t, OpenNode>> node_scores_;  // by tree: nodes that were reached
  std::vector<std::unordered_map<int32_t, bool>> opened_;           // by tree
};

// The microseconds of each query, answered one after the other as a Predictor does.
void time_queries(SearchEngine& engine, const QueryRows& rows, const SearchOptions& options, float* microseconds);

// The same for a part of it: each query is made ready, and the chunks of nodes known beforehand are scored, from
// ends[i] to ends[i + 1] those of query i.
void time_scoring(SearchEngine& engine, const QueryRows& rows, const int64_t* ends, const int32_t* nodes,
                  const int32_t* trees, float* microseconds);

}  // namespace labeltrees
