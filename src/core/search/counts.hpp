// Counts the operations of searches by replaying them in scalar code. The searches themselves count nothing, because
// that would slow them down (docs/decisions/0023).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "search/engine.hpp"

namespace labeltrees::search {

// Counts of one query, over all trees.
struct SearchCounts {
  int64_t nonzeros = 0;     // features of the query
  int64_t visits = 0;       // nodes opened
  int64_t lookups = 0;      // features looked up, in every level of the index of every part of a chunk
  int64_t hits = 0;         // lookups that found a row
  int64_t weights = 0;      // weights added one by one
  int64_t vectors = 0;      // groups of 16 weights added at once
  int64_t children = 0;     // children scored
  int64_t heap_steps = 0;   // nodes taken from the heap, chunks pushed to it, labels pushed to the list of results
  int64_t path_visits = 0;  // visits made to score labels that another tree found

  static constexpr int kFields = 9;
  void write(int64_t* out) const;
};

// A node that was opened.
struct Visit {
  OpenNode node;
  int32_t tree;
  bool on_path;  // opened to score a label that another tree found
};

class SearchCounter {
 public:
  explicit SearchCounter(SearchEngine& engine);

  // The counts of one query's search; its visits are added to `visits`, tree by tree, in order.
  SearchCounts count(const QueryRow& row, const SearchRequest& request, std::vector<Visit>& visits);

 private:
  // Counts one node, and keeps the scores of its children.
  void open(size_t tree, const OpenNode& node, BestLabels* best, SearchCounts& counts);

  // Counts the nodes opened to score the labels of all trees in every tree.
  void count_paths(std::vector<int32_t>& pooled, std::vector<Visit>& visits, SearchCounts& counts);

  SearchEngine& engine_;
  std::vector<SearchQuery> queries_;                                // by tree
  std::vector<std::unordered_map<int32_t, OpenNode>> node_scores_;  // by tree: nodes whose parent was opened
  std::vector<std::unordered_map<int32_t, bool>> opened_;           // by tree
};

}  // namespace labeltrees::search
