// Which labels a search may return, and the weights that their scores are multiplied with.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "search/best.hpp"
#include "search/request.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::search {

// The parents of nodes and labels. Only searches with candidates and ensembles need them, so they are found on first
// use.
class TreeLinks {
 public:
  TreeLinks(const tree::TreeView& tree, std::string source) : tree_(tree), source_(std::move(source)) {}

  // Finds the parents when first called. Throws DamagedChunk if the arrays are not a tree. Thread-safe.
  void require();
  int32_t n_nodes() const { return static_cast<int32_t>(tree_.n_nodes); }
  int32_t parent_of_node(int32_t node) const { return node_parent_[node]; }      // -1 for the root
  int32_t parent_of_label(int32_t label) const { return label_parent_[label]; }  // -1 if the label is not in the tree

  // How similar two labels are: the information of their lowest common ancestor, 1 - log(n labels below it) / log(L).
  // 0 if only the root is above both, or if one of them is not in the tree.
  float similarity(int32_t a, int32_t b) const {
    if (a == b) return 1.0f;
    int32_t x = label_parent_[a], y = label_parent_[b];
    if (x < 0 || y < 0) return 0.0f;
    while (x != y) (x > y ? x : y) = node_parent_[x > y ? x : y];  // a child has a larger id than its parent
    return information_[x];
  }

 private:
  tree::TreeView tree_;
  std::string source_;
  std::once_flag once_;
  std::vector<int32_t> node_parent_, label_parent_;
  std::vector<float> information_;  // of nodes
};

// One bitmap of nodes per tree; empty if it would not save time.
using NodeBits = std::vector<std::vector<uint64_t>>;

inline void set_bit(std::vector<uint64_t>& bits, int32_t id) { bits[id >> 6] |= uint64_t{1} << (id & 63); }
inline bool has_bit(const uint64_t* bits, int32_t id) { return bits[id >> 6] >> (id & 63) & 1; }

class SetCeilings;  // search/set_ceilings.hpp

// A set of labels prepared for many searches: bitmaps of its labels and of the nodes that lead to them.
struct LabelSet {
  // Sets with at least 1 / kExcludedShare of all labels get `outside`. For smaller ones it would not save time.
  static constexpr int64_t kExcludedShare = 8;

  const void* owner = nullptr;   // the engine whose trees the nodes belong to
  int64_t n = 0;                 // labels in the set
  std::vector<uint64_t> labels;  // the set
  NodeBits inside;               // the ancestors of labels in the set, for candidates
  NodeBits outside;              // the ancestors of labels not in the set, for large sets to exclude

  // Upper bounds for searches among these labels, by tree, null if they would not save time. Made once by `pack`, which
  // other threads may call at the same time.
  template <class Make>
  void pack(size_t n_trees, Make&& make) const {
    std::call_once(once_, [&] {
      for (size_t tree = 0; tree < n_trees; ++tree) ceilings_.push_back(make(tree));
      packed_.store(true, std::memory_order_release);
    });
  }
  int64_t bytes() const;  // in set_ceilings.cpp
  const SetCeilings* ceilings(size_t tree) const {
    return packed_.load(std::memory_order_acquire) ? ceilings_[tree].get() : nullptr;
  }

  // links(tree) returns the TreeLinks of a tree, which must have been required.
  template <class LinksOf>
  LabelSet(const void* engine, const int32_t* ids, int64_t n_ids, int32_t n_labels, size_t n_trees, LinksOf&& links)
      : owner(engine), labels(static_cast<size_t>(n_labels / 64 + 1), 0) {
    for (int64_t i = 0; i < n_ids; ++i) {
      n += !has_bit(labels.data(), ids[i]);
      set_bit(labels, ids[i]);
    }
    inside.resize(n_trees);
    const bool is_large = n * kExcludedShare >= n_labels;
    if (is_large) outside.resize(n_trees);
    for (size_t tree = 0; tree < n_trees; ++tree) {
      const TreeLinks& of_tree = links(tree);
      inside[tree].assign(static_cast<size_t>(of_tree.n_nodes() / 64 + 1), 0);
      for (int64_t i = 0; i < n_ids; ++i) mark(of_tree, ids[i], inside[tree]);
      if (!is_large) continue;
      outside[tree].assign(inside[tree].size(), 0);
      for (int32_t label = 0; label < n_labels; ++label)
        if (!has_bit(labels.data(), label)) mark(of_tree, label, outside[tree]);
    }
  }

  // Sets the bits of the ancestors of a label.
  static void mark(const TreeLinks& links, int32_t label, std::vector<uint64_t>& nodes) {
    for (int32_t node = links.parent_of_label(label); node >= 0 && !has_bit(nodes.data(), node);) {
      set_bit(nodes, node);
      node = links.parent_of_node(node);
    }
  }

 private:
  mutable std::once_flag once_;
  mutable std::atomic<bool> packed_{false};
  mutable std::vector<std::shared_ptr<const SetCeilings>> ceilings_;
};

// Weights that labels' scores are multiplied with, prepared for many searches: with the largest weight below each node.
struct LabelWeights {
  const void* owner = nullptr;  // the engine whose trees the nodes belong to
  const uint64_t number;        // unique in this process
  std::vector<std::vector<float>> tables;
  int64_t n_labels = 0;

  // logs: store logarithms, for searches whose scores are sums of logs. weights: n of them, finite and at least 0.
  // links(tree) returns the TreeLinks of a tree, which must have been required.
  template <class LinksOf>
  LabelWeights(const void* engine, const float* weights, int64_t n, bool logs, size_t n_trees, LinksOf&& links)
      : owner(engine), number(next_number()), tables(n_trees), n_labels(n) {
    const float nothing = logs ? -std::numeric_limits<float>::infinity() : 0.0f;
    for (size_t tree = 0; tree < n_trees; ++tree) {
      const TreeLinks& of_tree = links(tree);
      tables[tree].assign(static_cast<size_t>(n + of_tree.n_nodes()), nothing);
      float* values = tables[tree].data() + n;
      for (int32_t label = 0; label < n; ++label) {
        const float value = logs ? std::log(weights[label]) : weights[label];
        values[~label] = value;
        for (int32_t node = of_tree.parent_of_label(label); node >= 0 && values[node] < value;) {
          values[node] = value;
          node = of_tree.parent_of_node(node);
        }
      }
    }
  }

  // Indexed with a child: ~label gives the weight of the label, a node the largest weight below it.
  const float* by_child(size_t tree) const { return tables[tree].data() + n_labels; }

 private:
  static uint64_t next_number() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
};

// A table of weights in which those of some labels are changed for one query and restored afterwards, so that a call
// with few boosts does not touch all labels. The first call of a thread copies the table: 4 bytes per label and node.
class BoostedWeights {
 public:
  // base: null for weights of 1. logs: as in LabelWeights. Returns the table by child.
  const float* set(const LabelWeights* base, size_t tree, const TreeLinks& links, int64_t n_labels, bool logs,
                   const Boosts& boosts) {
    const uint64_t number = base ? base->number : 0;
    if (values_.empty() || number != base_ || logs != logs_) {
      values_.assign(static_cast<size_t>(n_labels + links.n_nodes()), logs ? 0.0f : 1.0f);
      if (base) values_ = base->tables[tree];
      changed_.clear();
      base_ = number;
      logs_ = logs;
    }
    restore();
    float* by_child = values_.data() + n_labels;
    for (int64_t i = 0; i < boosts.n; ++i) {
      const int32_t label = boosts.labels[i];
      const float value = logs ? by_child[~label] + boosts.weights[i] : by_child[~label] * boosts.weights[i];
      change(&by_child[~label], value);
      // The bound of a node is not lowered: other labels below it may have weights that large.
      for (int32_t node = links.parent_of_label(label); node >= 0 && by_child[node] < value;) {
        change(&by_child[node], value);
        node = links.parent_of_node(node);
      }
    }
    return by_child;
  }

 private:
  void change(float* place, float value) {
    changed_.push_back({place - values_.data(), *place});
    *place = value;
  }
  void restore() {
    for (; !changed_.empty(); changed_.pop_back()) values_[changed_.back().place] = changed_.back().before;
  }

  struct Change {
    int64_t place;
    float before;
  };
  std::vector<float> values_;
  std::vector<Change> changed_;
  uint64_t base_ = 0;
  bool logs_ = true;
};

// The labels of a model that no search returns, and the nodes that still lead to others.
struct RetiredLabels {
  std::vector<uint64_t> labels;
  NodeBits live;  // the ancestors of other labels, by tree; empty if these are all nodes

  // links(tree) returns the TreeLinks of a tree, which must have been required.
  template <class LinksOf>
  RetiredLabels(const int32_t* ids, int64_t n, int32_t n_labels, size_t n_trees, LinksOf&& links)
      : labels(static_cast<size_t>(n_labels / 64 + 1), 0), live(n_trees) {
    for (int64_t i = 0; i < n; ++i) set_bit(labels, ids[i]);
    for (size_t tree = 0; tree < n_trees; ++tree) {
      const TreeLinks& of_tree = links(tree);
      live[tree].assign(static_cast<size_t>(of_tree.n_nodes() / 64 + 1), 0);
      for (int32_t label = 0; label < n_labels; ++label)
        if (!has_bit(labels.data(), label)) LabelSet::mark(of_tree, label, live[tree]);
      int64_t n_live = 0;
      for (const uint64_t word : live[tree]) n_live += std::popcount(word);
      if (n_live == of_tree.n_nodes()) live[tree].clear();
    }
  }
};

// The retired labels of an engine. They may change while other threads search: a search takes them over when it starts.
// If they have not changed, it only compares a version number.
class RetiredState {
 public:
  void set(std::shared_ptr<const RetiredLabels> labels) {  // null: none
    std::lock_guard lock(mutex_);
    labels_ = std::move(labels);
    version_.fetch_add(1, std::memory_order_release);
  }
  void take(int64_t& version, std::shared_ptr<const RetiredLabels>& labels) const {
    if (version_.load(std::memory_order_acquire) == version) return;
    std::lock_guard lock(mutex_);
    labels = labels_;
    version = version_.load(std::memory_order_relaxed);
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<int64_t> version_{0};
  std::shared_ptr<const RetiredLabels> labels_;
};

// Which labels a query may return, and the weights of their scores. Null: no restriction.
struct LabelFilter {
  const uint64_t* labels = nullptr;    // allowed labels
  const uint64_t* nodes = nullptr;     // nodes that lead to an allowed label
  const uint64_t* excluded = nullptr;  // labels not to return: a list, and a prepared set
  const uint64_t* excluded_set = nullptr;
  const float* weights = nullptr;         // LabelWeights::by_child of the tree
  const uint64_t* retired = nullptr;      // labels that no search returns
  const uint64_t* live = nullptr;         // nodes that lead to other labels
  const SetCeilings* ceilings = nullptr;  // of a set that includes the labels allowed

  bool allows_label(int32_t label) const {
    return (!labels || has_bit(labels, label)) && (!excluded || !has_bit(excluded, label)) &&
           (!excluded_set || !has_bit(excluded_set, label)) && (!retired || !has_bit(retired, label));
  }
  bool allows_node(int32_t node) const { return (!nodes || has_bit(nodes, node)) && (!live || has_bit(live, node)); }
  bool skips_nodes() const { return nodes || live; }
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
  // Starts a call: no query has been set yet, and only retired labels are left out.
  void start(size_t n_trees, const RetiredState& state) {
    filters_.assign(n_trees, LabelFilter());
    ancestors_.resize(n_trees);
    boosted_.resize(n_trees);
    state.take(version_, retired_);
    if (!retired_) return;
    for (size_t tree = 0; tree < n_trees; ++tree) {
      filters_[tree].retired = retired_->labels.data();
      if (!retired_->live[tree].empty()) filters_[tree].live = retired_->live[tree].data();
    }
  }
  // Marks the lists of a query; lists for all queries are marked only for the first one. links(tree) returns the
  // TreeLinks of a tree, which must have been required if there are candidates or boosts. logs: as in LabelWeights.
  template <class LinksOf>
  void set(const SearchRequest& request, int64_t query, int32_t n_labels, bool logs, LinksOf&& links) {
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
        filters_[tree].ceilings = request.candidate_set->ceilings(tree);
      }
    }
    if (request.boosts.given() && !filters_[0].weights) {  // the same for all queries
      for (size_t tree = 0; tree < filters_.size(); ++tree)
        filters_[tree].weights = boosted_[tree].set(request.weights, tree, links(tree), n_labels, logs, request.boosts);
    } else if (request.weights && !request.boosts.given()) {
      for (size_t tree = 0; tree < filters_.size(); ++tree) filters_[tree].weights = request.weights->by_child(tree);
    }
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
  std::vector<MarkSet> ancestors_;       // by tree
  std::vector<BoostedWeights> boosted_;  // by tree
  std::vector<LabelFilter> filters_;     // by tree
  std::shared_ptr<const RetiredLabels> retired_;
  int64_t version_ = 0;  // of retired_
};

// The labels for a query without any feature: the most frequent ones.
class LabelPrior {
 public:
  // counts: the number of training points of each label, of n_points in all; kept by the caller.
  void set(const int64_t* counts, int64_t n_labels, double n_points) {
    counts_ = counts;
    n_labels_ = n_labels;
    n_points_ = n_points;
  }
  bool known() const { return counts_ != nullptr; }

  // Fills `best` (started by the caller) with the most frequent labels allowed; the scores are their shares times
  // weight_of(label). Labels that no training point has are left out.
  template <class WeightOf>
  void find(const LabelFilter& filter, WeightOf&& weight_of, BestLabels& best) const {
    if (!known()) return;
    std::call_once(once_, [&] { sort(); });
    for (int32_t label : order_) {
      const float share = std::min(static_cast<float>(counts_[label] / n_points_), 1.0f);
      if (!filter.weights && share < best.limit()) return;  // no later label is more frequent
      const float score = share * weight_of(label);
      if (score > 0.0f && filter.allows_label(label)) best.offer(score, label);
    }
  }

 private:
  // Sorts the labels by falling count on first use: most models never see a query without features.
  void sort() const {
    for (int32_t label = 0; label < n_labels_; ++label)
      if (counts_[label] > 0) order_.push_back(label);
    std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return counts_[a] > counts_[b]; });
  }

  const int64_t* counts_ = nullptr;
  int64_t n_labels_ = 0;
  double n_points_ = 1;
  mutable std::once_flag once_;
  mutable std::vector<int32_t> order_;
};

}  // namespace labeltrees::search
