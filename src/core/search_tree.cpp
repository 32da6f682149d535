#include "search_tree.hpp"

#include <algorithm>

namespace labeltrees {

void TreeSearch::run(const SearchStore& store, const SearchQuery& query, const SearchOptions& options,
                     const LabelFilter& filter, BestLabels& best, SearchStats& stats, ScoreMemo* memo) {
  store_ = &store;
  query_ = &query;
  options_ = &options;
  filter_ = &filter;
  best_ = &best;
  stats_ = &stats;
  memo_ = memo;
  kernels_ = &active_kernels();
  chunks_before_ = stats.chunks;
  if (options.max_microseconds) deadline_ = Clock::now() + std::chrono::microseconds(options.max_microseconds);
  open_.clear();
  if (options.mode == SearchMode::best_first)
    best_first();
  else
    beam();
}

bool TreeSearch::out_of_budget() {
  bool out = (options_->max_chunks && stats_->chunks - chunks_before_ >= options_->max_chunks) ||
             (options_->max_microseconds && Clock::now() >= deadline_);
  if (out) stats_->partial = true;
  return out;
}

void TreeSearch::score_part(const uint8_t* part, float base, float power) {
  kernels_->chunk_margins(part, query_->chunk_query(), margins_);
  kernels_->path_scores(margins_, round_up(header_of(part).n_children, 16), base, power, scores_);
}

template <class Found>
void TreeSearch::open(const OpenNode& node, bool prune, Found&& found_node) {
  ++stats_->chunks;
  // Only a damaged file can have more paths than nodes.
  if (stats_->chunks - chunks_before_ > store_->n_nodes())
    throw DamagedChunk(store_->source() + ": the nodes do not form a tree");
  stats_->depth = std::max(stats_->depth, node.depth + 1);
  if (memo_) memo_->begin(node.node);
  for (const uint8_t* part = store_->open(node.node); part; part = next_part(part)) {
    int n_children = header_of(part).n_children;
    const int32_t* children = children_of(part);
    score_part(part, node.score, options_->power);
    if (memo_) memo_->append(scores_, n_children);
    stats_->classifiers += n_children;
    for (int i = 0; i < n_children; ++i) {
      if (children[i] < 0) {
        if (scores_[i] >= best_->limit() && filter_->allows_label(~children[i])) best_->offer(scores_[i], ~children[i]);
      } else if (!(prune && scores_[i] < best_->limit()) && filter_->allows_node(children[i])) {
        found_node(OpenNode{scores_[i], node.depth + 1, children[i]});
      }
    }
  }
}

void TreeSearch::best_first() {
  opened_.clear();
  open_.push_back({0.0f, 0, 0});
  while (!open_.empty()) {
    std::pop_heap(open_.begin(), open_.end(), later);
    OpenNode node = open_.back();
    open_.pop_back();
    if (node.score < best_->limit()) return;
    if (options_->beam) {
      if (opened_.size() <= static_cast<size_t>(node.depth)) opened_.resize(node.depth + 1, 0);
      if (opened_[node.depth] >= options_->beam) continue;
      ++opened_[node.depth];
    }
    if (out_of_budget()) return;
    open(node, true, [&](const OpenNode& child) {
      open_.push_back(child);
      std::push_heap(open_.begin(), open_.end(), later);
    });
  }
}

void TreeSearch::beam() {
  auto sooner = [](const OpenNode& a, const OpenNode& b) { return later(b, a); };
  open_.push_back({0.0f, 0, 0});
  while (!open_.empty()) {
    next_.clear();
    for (const OpenNode& node : open_) {
      if (options_->prune && node.score < best_->limit()) break;  // the rest of the level is not better
      if (out_of_budget()) return;
      open(node, options_->prune, [&](const OpenNode& child) { next_.push_back(child); });
    }
    if (options_->beam && next_.size() > static_cast<size_t>(options_->beam)) {
      std::nth_element(next_.begin(), next_.begin() + options_->beam, next_.end(), sooner);
      next_.resize(options_->beam);
    }
    std::sort(next_.begin(), next_.end(), sooner);
    std::swap(open_, next_);
  }
}

float TreeSearch::path_score(const SearchStore& store, const TreeLinks& links, const SearchQuery& query, float power,
                             int32_t label, ScoreMemo& memo, SearchStats& stats) {
  query_ = &query;
  kernels_ = &active_kernels();
  path_.clear();
  for (int32_t node = links.parent_of_label(label); node >= 0; node = links.parent_of_node(node)) path_.push_back(node);
  if (path_.empty()) return -std::numeric_limits<float>::infinity();
  float score = 0.0f;
  for (size_t i = path_.size(); i-- > 0;) {
    int32_t node = path_[i], child = i > 0 ? path_[i - 1] : ~label;
    const uint8_t* first = store.open(node);
    if (memo.find(node) < 0) {
      memo.begin(node);
      ++stats.chunks;
      for (const uint8_t* part = first; part; part = next_part(part)) {
        score_part(part, score, power);
        memo.append(scores_, header_of(part).n_children);
        stats.classifiers += header_of(part).n_children;
      }
    }
    const float* scores = memo.scores() + memo.find(node);
    bool found = false;
    for (const uint8_t* part = first; part && !found; part = next_part(part)) {
      int n = header_of(part).n_children, place = 0;
      while (place < n && children_of(part)[place] != child) ++place;
      found = place < n;
      if (found) score = scores[place];
      scores += n;
    }
    if (!found) throw DamagedChunk(store.source() + ": a chunk's children are not those of the tree");
  }
  stats.depth = std::max(stats.depth, static_cast<int32_t>(path_.size()));
  return score;
}

}  // namespace labeltrees
