// Which labels a query may return, and how much their scores count.
#pragma once

#include <cstdint>
#include <vector>

#include "search/label_set.hpp"
#include "search/label_weights.hpp"
#include "search/links.hpp"
#include "search/request.hpp"

namespace labeltrees {

// Null for no restriction.
struct LabelFilter {
  const uint64_t* labels = nullptr;    // allowed labels
  const uint64_t* nodes = nullptr;     // nodes that lead to an allowed label
  const uint64_t* excluded = nullptr;  // labels not to return: a list, and a prepared set
  const uint64_t* excluded_set = nullptr;
  const float* weights = nullptr;  // LabelWeights::by_child of the tree

  bool allows_label(int32_t label) const {
    return (!labels || has_bit(labels, label)) && (!excluded || !has_bit(excluded, label)) &&
           (!excluded_set || !has_bit(excluded_set, label));
  }
  bool allows_node(int32_t node) const { return !nodes || has_bit(nodes, node); }
};

// A bitmap that is cleared by removing what was inserted, so that a query with few labels costs little, however many
// labels there are.
class MarkSet {
 public:
  void reserve(int64_t n) {
    if (words_.empty()) words_.resize(static_cast<size_t>(n / 64 + 1), 0);
  }
  bool insert(int32_t id) {  // true if it was not in the set
    uint64_t bit = uint64_t{1} << (id & 63), &word = words_[id >> 6];
    if (word & bit) return false;
    word |= bit;
    inserted_.push_back(id);
    return true;
  }
  void clear() {
    for (int32_t id : inserted_) words_[id >> 6] = 0;
    inserted_.clear();
  }
  const uint64_t* words() const { return words_.data(); }

 private:
  std::vector<uint64_t> words_;
  std::vector<int32_t> inserted_;
};

// The filters of one query, one per tree. The bitmaps are reused from query to query and from call to call.
class QueryFilters {
 public:
  // Starts a call: no query has been set yet.
  void start(size_t n_trees) {
    filters_.assign(n_trees, LabelFilter());
    ancestors_.resize(n_trees);
  }
  // Marks the lists of a query; lists for all queries are marked only for the first one. links(tree) returns the
  // TreeLinks of a tree, which must have been required if there are candidates.
  template <class LinksOf>
  void set(const SearchRequest& request, int64_t query, int32_t n_labels, LinksOf&& links) {
    const LabelLists &candidates = request.candidates, &exclude = request.exclude;
    if (candidates.given() && (candidates.per_query() || !filters_[0].labels)) {
      mark(candidates, query, n_labels, allowed_);
      for (size_t tree = 0; tree < filters_.size(); ++tree) {
        mark_ancestors(links(tree), candidates.begin(query), candidates.size(query), ancestors_[tree]);
        filters_[tree].labels = allowed_.words();
        filters_[tree].nodes = ancestors_[tree].words();
      }
    }
    if (exclude.given() && (exclude.per_query() || !filters_[0].excluded)) {
      mark(exclude, query, n_labels, excluded_);
      for (LabelFilter& filter : filters_) filter.excluded = excluded_.words();
    }
    if (request.exclude_set) {
      const LabelSet& set = *request.exclude_set;
      for (size_t tree = 0; tree < filters_.size(); ++tree) {
        filters_[tree].excluded_set = set.labels.data();
        if (!set.outside.empty() && !candidates.given()) filters_[tree].nodes = set.outside[tree].data();
      }
    }
    if (request.candidate_set) {
      for (size_t tree = 0; tree < filters_.size(); ++tree) {
        filters_[tree].labels = request.candidate_set->labels.data();
        filters_[tree].nodes = request.candidate_set->inside[tree].data();
      }
    }
    if (request.weights)
      for (size_t tree = 0; tree < filters_.size(); ++tree) filters_[tree].weights = request.weights->by_child(tree);
  }
  const LabelFilter& of_tree(size_t tree) const { return filters_[tree]; }

 private:
  static void mark(const LabelLists& lists, int64_t query, int32_t n_labels, MarkSet& set) {
    set.reserve(n_labels);
    set.clear();
    for (int64_t i = 0; i < lists.size(query); ++i) set.insert(lists.begin(query)[i]);
  }
  static void mark_ancestors(const TreeLinks& links, const int32_t* labels, int64_t n, MarkSet& nodes) {
    nodes.reserve(links.n_nodes());
    nodes.clear();
    for (int64_t i = 0; i < n; ++i)
      for (int32_t node = links.parent_of_label(labels[i]); node >= 0 && nodes.insert(node);)
        node = links.parent_of_node(node);
  }

  MarkSet allowed_, excluded_;
  std::vector<MarkSet> ancestors_;    // by tree
  std::vector<LabelFilter> filters_;  // by tree
};

}  // namespace labeltrees
