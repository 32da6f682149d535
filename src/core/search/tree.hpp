// The search of one tree for one query.
//
// A label's score is the sum of log probabilities along its path, so scores never rise on the way down.
//
// Best first: the best open node is opened, its labels go to the list, its nodes are opened later. It ends when the
// best open node is strictly below the k-th label: an equal one may hold a label of smaller number. Nodes come in the
// order of falling score, then rising depth, then rising number; with `beam` only the first that many of each depth are
// opened. Since scores never rise those are the very nodes that the level-wise beam keeps, so both return the same
// lists for the same beam.
//
// With `losses` it hopes for less: a node is worth what its best label is likely to score, not what it could at most.
// hope = score - loss of the node * (kHopeScale - score); nodes come in the order of falling hope, and the search ends
// when the best hope is strictly below the k-th label. Losses of 0 are the exact search.
// Where the most that any label below a node can score is known (SearchStore::ceilings), a node whose turn comes is
// passed over if that is strictly below the k-th label. Not with `beam`: its children could have kept others, and other
// labels, out of later levels.
//
// Beam: level by level, of each level the `beam` best nodes (ties: the smaller number); labels leave at once and take
// no place. With `prune` nodes strictly below the k-th label found are not opened. That changes no list: all below
// them, and everything they would displace from later beams, is strictly below the k-th label too.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "search/best.hpp"
#include "search/filter.hpp"
#include "search/frontier.hpp"
#include "search/memo.hpp"
#include "search/query.hpp"
#include "search/store.hpp"
#include "simd/kernels.hpp"

namespace labeltrees {

// How much of a node's loss applies at score 0 (a sum of logs), where the score itself says nothing of the labels
// below.
constexpr float kHopeScale = 0.3f;

enum class SearchMode : int32_t { best_first = 0, beam = 1 };

struct SearchOptions {
  int64_t k = 5;
  SearchMode mode = SearchMode::best_first;
  int64_t beam = 0;  // nodes opened of each depth; 0: all
  bool prune = true;
  int64_t max_chunks = 0;         // 0: no limit
  int64_t max_microseconds = 0;   // 0: no limit
  float power = 3.0f;             // of the hinge; 0: logistic
  const float* losses = nullptr;  // best first: of each node, one tree after another, finite and at least 0; null: none
};

struct SearchStats {
  int64_t chunks = 0;       // nodes opened
  int64_t classifiers = 0;  // children scored
  int32_t depth = 0;        // of the deepest child scored
  bool partial = false;     // a budget ended the search before its time
};

// Reused from query to query: a search allocates nothing once its vectors have grown.
class TreeSearch {
 public:
  using Clock = std::chrono::steady_clock;

  // Fills `best` (started by the caller) with the k best labels that pass `filter`; adds to `stats`. What was scored is
  // kept in `memo` if there is one; the nodes opened, in order, are added to `trace` if there is one.
  void run(const SearchStore& store, const SearchQuery& query, const SearchOptions& options, const LabelFilter& filter,
           BestLabels& best, SearchStats& stats, ScoreMemo* memo = nullptr, std::vector<OpenNode>* trace = nullptr);

  // The score of one label along its path; -inf if it is not in the tree. Uses `memo` and adds to it.
  float path_score(const SearchStore& store, const TreeLinks& links, const SearchQuery& query, float power,
                   int32_t label, ScoreMemo& memo, SearchStats& stats);

 private:
  bool choose();  // the next node to open; false if there is none
  bool choose_best();
  bool choose_in_level();
  bool hopeless(const OpenNode& node, float limit) const;
  bool out_of_budget();
  void score_part(const uint8_t* part, float base, float power);
  void take_children(const uint8_t* part);
  void search();

  const SearchStore* store_ = nullptr;
  const SearchQuery* query_ = nullptr;
  const SearchOptions* options_ = nullptr;
  const LabelFilter* filter_ = nullptr;
  BestLabels* best_ = nullptr;
  SearchStats* stats_ = nullptr;
  ScoreMemo* memo_ = nullptr;
  std::vector<OpenNode>* trace_ = nullptr;
  const Kernels* kernels_ = nullptr;
  const float* ceilings_ = nullptr;
  Clock::time_point deadline_;
  int64_t chunks_before_ = 0;
  bool started_ = false;
  OpenNode node_{};              // the one being opened
  Frontier frontier_;            // nodes to open; beam: of the next level
  std::vector<OpenNode> level_;  // beam: the level at hand, best first
  size_t in_level_ = 0;          // nodes of it already opened
  std::vector<int64_t> opened_;  // best first: nodes opened of each depth
  std::vector<int32_t> path_;
  alignas(64) float margins_[kMostChildren], scores_[kMostChildren];
  uint8_t labels_[kMostChildren];
};

}  // namespace labeltrees
