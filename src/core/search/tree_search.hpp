// The search of one tree for one query.
//
// A label's score is the sum of log probabilities along its path, so scores never rise from a node to its children.
//
// Best first: opens the best open node, offers its labels to the list of results, and keeps its nodes for later. It
// ends when the best open node is strictly below the k-th label; an equal node may still hold a label with a smaller
// id. Nodes are opened in the order of falling score, then rising depth, then rising id. With `beam`, only the first
// `beam` nodes of each depth are opened. Because scores never rise, these are the nodes that a level-wise beam search
// keeps, so the lists are the same.
//
// With discounts, a node is compared by its priority instead of its score:
// priority = score - discount of the node * (kPriorityScale - score). Nodes are opened in the order of falling
// priority, and the search ends when no priority reaches the k-th label. With discounts of 0 the search is exact.
//
// Where the best possible score below each node is known (SearchStore::ceilings), a node is skipped when its turn comes
// if that ceiling is strictly below the k-th label. This is not done with `beam`: the children of the skipped node
// could have kept other nodes, and their labels, out of later levels.
//
// Where a packed set of candidates has ceilings (SetCeilings), an exact search begins with these, and compares a node
// by the best score that an allowed label below it can have. This is done only where the list does not depend on the
// nodes opened: not with a beam, discounts or a budget, and not if labels are returned because they were scored.
//
// With label weights, labels are compared by score + log weight. A node is compared by its score plus the largest log
// weight of the labels below it, which never rises from a node to its children either, so the search stays exact.
//
// Paths: goes level by level and keeps the `beam` best paths of each level. A path ends at a leaf (a node whose
// children are all labels) or at a label that has nodes beside it. An ended path keeps competing for its place with the
// paths that go on. When all paths have ended, the labels of their leaves are scored: at most `beam` leaves are opened.
// Leaves strictly below the k-th label found are not opened: that changes no list. Without a limit of paths, it is the
// best-first search.
//
// Most of the time of a search in a large model is waiting for memory. So the search is a sequence of steps, each of
// which prefetches the memory that the next one reads: open a node, look up the query's features in each level of its
// index, sum up the rows found. The engine takes steps of several searches in turn (SearchEngine::search). A small
// model stays in the cache: there, each node takes one step, and searches run one after another.
#pragma once

#include <cstdint>
#include <vector>

#include "search/best.hpp"
#include "search/frontier.hpp"
#include "search/label_rules.hpp"
#include "search/query.hpp"
#include "search/request.hpp"
#include "search/results.hpp"
#include "search/set_ceilings.hpp"
#include "search/store.hpp"
#include "simd/kernels.hpp"

namespace labeltrees::search {

// Mode paths: a path from the root.
struct SearchPath {
  float score;
  float bound;    // the score, weighted
  int32_t child;  // where it is: a node, or ~label
  int32_t depth;
  bool ended;
};

// How much of a node's discount applies at score 0 (a sum of logs), where the score itself says nothing about the
// labels below.
constexpr float kPriorityScale = 0.3f;

// Reused from query to query: once its vectors have grown, a search allocates nothing.
class TreeSearch {
 public:
  // Starts a search that fills `best` (started by the caller) with the k best labels that pass `filter`, and adds to
  // `stats`. The scores computed go to `memo` and the nodes opened, in order, to `trace`, unless these are null. The
  // arguments must live until the search has ended.
  void start(const SearchStore& store, const SearchQuery& query, const SearchRequest& request,
             const LabelFilter& filter, BestLabels& best, SearchStats& stats, ScoreMemo* memo = nullptr,
             std::vector<OpenNode>* trace = nullptr);
  // Takes the next step; false if the search has ended.
  bool step();

  // The score of one label along its path; -inf if it is not in the tree. Uses `memo` and adds to it.
  float path_score(const SearchStore& store, const TreeLinks& links, const SearchQuery& query, int32_t label,
                   ScoreMemo& memo, SearchStats& stats);

 private:
  enum class Step { rows, sums, whole, paths, none };

  void open_node();    // opens the node chosen, unless the budget is used up
  void begin_part();   // of the node opened
  bool choose_next();  // sets node_ to the next node to open; false if there is none
  bool begin_node();   // counts node_ as opened; false if the budget is used up
  void run_paths();
  template <class Visit>
  bool open_path(const SearchPath& path, const Visit& visit);
  bool is_below_ceiling(const OpenNode& node, float limit) const;
  bool out_of_budget();
  void score_margins(const uint8_t* part, const float* margins, float base, float* scores) const;
  void score_part(const uint8_t* part, float base, float* scores) const;
  // The score of a child of a node, or the bound of the labels below it, with their weights.
  float weighted(float score, int32_t child) const {
    return filter_->weights ? score + filter_->weights[child] : score;
  }
  bool has_priorities() const { return request_->discounts || filter_->weights || set_ceilings_; }
  void begin_bounds(size_t part);  // evaluates this part of the ceilings of the set, or opens the root after the last
  bool is_bounding() const { return set_ceilings_ && bounds_part_ < set_ceilings_->n_parts(); }
  // Lowers the numbers that nodes are compared by to their ceilings.
  void lower_to_ceilings(const int32_t* children, int64_t n, float* nodes) const;
  void add_children(const uint8_t* part, const float* path_scores);

  const SearchStore* store_ = nullptr;
  const SearchQuery* query_ = nullptr;
  const SearchRequest* request_ = nullptr;
  const LabelFilter* filter_ = nullptr;
  BestLabels* best_ = nullptr;
  SearchStats* stats_ = nullptr;
  ScoreMemo* memo_ = nullptr;
  std::vector<OpenNode>* trace_ = nullptr;
  const simd::Kernels* kernels_ = nullptr;
  const float* ceilings_ = nullptr;
  const SetCeilings* set_ceilings_ = nullptr;  // of the set of candidates
  size_t bounds_part_ = 0;                     // the part being evaluated
  int64_t n_bounds_ = 0;                       // margins known
  std::vector<float> bounds_, node_ceilings_;  // for this query: margins, and ceilings by place
  SearchClock::time_point deadline_;
  int64_t chunks_before_ = 0;
  Step step_ = Step::none;                        // the next one
  OpenNode node_{};                               // the node being opened
  const uint8_t* part_ = nullptr;                 // of its chunk
  simd::ChunkRows rows_{};                        // of that part
  Frontier frontier_;                             // nodes to open
  std::vector<int64_t> opened_;                   // with a beam: nodes opened per depth
  std::vector<SearchPath> paths_, longer_paths_;  // mode paths: those of the current and of the next level
  std::vector<int32_t> path_;
};

}  // namespace labeltrees::search
