#include "search/tree_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace labeltrees::search {

void TreeSearch::start(const SearchStore& store, const SearchQuery& query, const SearchRequest& request,
                       const LabelFilter& filter, BestLabels& best, SearchStats& stats, ScoreMemo* memo,
                       std::vector<OpenNode>* trace) {
  store_ = &store;
  query_ = &query;
  request_ = &request;
  filter_ = &filter;
  best_ = &best;
  stats_ = &stats;
  memo_ = memo;
  trace_ = trace;
  kernels_ = &simd::active_kernels();
  chunks_before_ = stats.chunks;
  if (request.max_microseconds) deadline_ = SearchClock::now() + std::chrono::microseconds(request.max_microseconds);
  ceilings_ = query.ceilings_hold() && !request.beam ? store.ceilings() : nullptr;
  const bool approximate = request.beam || request.discounts || request.max_chunks || request.max_microseconds;
  const bool bounded =
      filter.ceilings && query.ceilings_hold() && !approximate && !trace && request.n_returned() == request.k;
  set_ceilings_ = bounded ? filter.ceilings : nullptr;
  opened_.clear();
  frontier_.start(*kernels_, has_priorities());
  if (request.mode == SearchMode::paths && request.beam) {
    step_ = Step::paths;
    return;
  }
  step_ = Step::none;
  node_ = {0.0f, 0, 0};
  if (!set_ceilings_) return open_node();
  bounds_.resize(set_ceilings_->n_margins() + chunk::kMostChildren);
  n_bounds_ = 0;
  begin_bounds(0);
}

void TreeSearch::begin_bounds(size_t part) {
  bounds_part_ = part;
  if (part < set_ceilings_->n_parts()) {
    part_ = set_ceilings_->part(part);
    return begin_part();
  }
  set_ceilings_->find(*kernels_, store_->link(), *query_, bounds_.data(), node_ceilings_);
  open_node();
}

void TreeSearch::lower_to_ceilings(const int32_t* children, int64_t n, float* nodes) const {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t place = nodes[i] > Frontier::kNone ? set_ceilings_->place_of(children[i]) : -1;
    if (place < 0) continue;
    // Scores are sums in single precision: a difference due to rounding does not count.
    const float bound = nodes[i] + node_ceilings_[place], rounding = 1e-6f * (std::fabs(nodes[i]) + std::fabs(bound));
    nodes[i] = std::min(nodes[i], std::max(bound + rounding, std::numeric_limits<float>::lowest()));
  }
}

bool TreeSearch::step() {
  switch (step_) {
    case Step::rows:
      if (!kernels_->find_rows(part_, query_->view(), rows_)) step_ = Step::sums;
      return true;
    case Step::sums:
    case Step::whole: {
      alignas(64) float margins[chunk::kMostChildren], scores[chunk::kMostChildren];
      if (step_ == Step::sums)
        kernels_->sum_rows(part_, query_->view(), rows_, margins);
      else
        kernels_->chunk_margins(part_, query_->view(), margins);
      if (is_bounding()) {
        std::copy_n(margins, header_of(part_).n_children, bounds_.data() + n_bounds_);
        n_bounds_ += header_of(part_).n_children;
        step_ = Step::none;
        begin_bounds(bounds_part_ + 1);
        return step_ != Step::none;
      }
      score_margins(part_, margins, node_.score, scores);
      add_children(part_, scores);
      step_ = Step::none;
      if ((part_ = next_part(part_)))
        begin_part();
      else if (choose_next())
        open_node();
      return step_ != Step::none;
    }
    case Step::paths:
      run_paths();
      step_ = Step::none;
      return false;
    case Step::none:
      return false;
  }
  return false;
}

void TreeSearch::open_node() {
  if (!begin_node()) return;
  part_ = store_->open(node_.node);
  store_->prefetch_start(node_.node);
  begin_part();
}

void TreeSearch::begin_part() {
  if (store_->is_small()) {
    step_ = Step::whole;
    return;
  }
  const simd::ChunkRowList* lists = query_->view().lists;
  rows_ = {0, {lists[0], lists[1], lists[2], lists[3]}};
  step_ = Step::rows;
}

bool TreeSearch::out_of_budget() {
  bool out = (request_->max_chunks && stats_->chunks - chunks_before_ >= request_->max_chunks) ||
             (request_->max_microseconds && SearchClock::now() >= deadline_);
  if (out) stats_->partial = true;
  return out;
}

bool TreeSearch::begin_node() {
  if (out_of_budget()) return false;
  ++stats_->chunks;
  // Only a damaged file can have more paths than nodes.
  if (stats_->chunks - chunks_before_ > store_->n_nodes())
    throw DamagedChunk(store_->source() + ": the nodes do not form a tree");
  stats_->depth = std::max(stats_->depth, node_.depth + 1);
  if (memo_) memo_->begin(node_.node);
  if (trace_) trace_->push_back(node_);
  return true;
}

bool TreeSearch::is_below_ceiling(const OpenNode& node, float limit) const {
  // Scores are sums in single precision: a difference due to rounding does not count.
  return ceilings_ && weighted(node.score, node.node) + ceilings_[node.node] < limit + 1e-6f * limit;
}

bool TreeSearch::choose_next() {
  float limit = best_->limit();
  do {
    for (;;) {
      if (frontier_.empty() || frontier_.best().score < limit) return false;
      if (!request_->beam) break;
      auto depth = static_cast<size_t>(frontier_.best().depth);
      if (opened_.size() <= depth) opened_.resize(depth + 1, 0);
      if (opened_[depth] < request_->beam) {
        ++opened_[depth];
        break;
      }
      frontier_.drop();
    }
    node_ = frontier_.take(limit);
  } while (is_below_ceiling(node_, limit));
  // The next in line is often the next opened: prefetching its header and the start of its index saves 10% of the time.
  if (!frontier_.empty()) store_->prefetch_start(frontier_.best().node);
  return true;
}

void TreeSearch::score_margins(const uint8_t* part, const float* margins, float base, float* scores) const {
  const simd::ScoreLink& link = store_->link();
  const int64_t n = chunk::round_up(header_of(part).n_children, 16);
  kernels_->path_scores.of[link.loss](margins, n, base, link.power, scores);
}

void TreeSearch::score_part(const uint8_t* part, float base, float* scores) const {
  alignas(64) float margins[chunk::kMostChildren];
  kernels_->chunk_margins(part, query_->view(), margins);
  score_margins(part, margins, base, scores);
}

void TreeSearch::add_children(const uint8_t* part, const float* path_scores) {
  alignas(64) float with_weights[chunk::kMostChildren];
  uint8_t labels[chunk::kMostChildren];
  int64_t n = header_of(part).n_children, n_padded = chunk::round_up(n, 16);
  const int32_t* children = children_of(part);
  if (memo_) memo_->append(path_scores, static_cast<int>(n));
  stats_->classifiers += n;
  float* nodes = frontier_.allocate(n_padded);
  float limit = best_->kept_limit();
  const float* scores = path_scores;
  if (filter_->weights) {
    kernels_->add_child_values(path_scores, children, n, filter_->weights, with_weights);
    scores = with_weights;
  }
  int64_t n_labels = kernels_->select_children(scores, children, n, limit, nodes, labels);
  for (int64_t i = 0; i < n_labels; ++i) {
    float score = scores[labels[i]];
    int32_t label = ~children[labels[i]];
    if (score >= best_->kept_limit() && score > Frontier::kNone && filter_->allows_label(label))
      best_->offer(score, label);
  }
  if (filter_->skips_nodes()) {
    for (int64_t i = 0; i < n; ++i)
      if (nodes[i] > Frontier::kNone && !filter_->allows_node(children[i])) nodes[i] = Frontier::kNone;
  }
  limit = best_->limit();
  if (request_->discounts)
    kernels_->priority_scores(children, n_padded, limit, request_->discounts, kPriorityScale, nodes, nodes + n_padded);
  else if (has_priorities())
    std::copy_n(path_scores, n_padded, nodes + n_padded);
  if (set_ceilings_) lower_to_ceilings(children, n, nodes);
  frontier_.add(children, n_padded, node_.depth + 1, limit);
}

float TreeSearch::path_score(const SearchStore& store, const TreeLinks& links, const SearchQuery& query, int32_t label,
                             ScoreMemo& memo, SearchStats& stats) {
  store_ = &store;
  query_ = &query;
  kernels_ = &simd::active_kernels();
  path_.clear();
  for (int32_t node = links.parent_of_label(label); node >= 0; node = links.parent_of_node(node)) path_.push_back(node);
  if (path_.empty()) return -std::numeric_limits<float>::infinity();
  float score = 0.0f;
  alignas(64) float part_scores[chunk::kMostChildren];
  for (size_t i = path_.size(); i-- > 0;) {
    int32_t node = path_[i], child = i > 0 ? path_[i - 1] : ~label;
    const uint8_t* first = store.open(node);
    if (memo.find(node) < 0) {
      memo.begin(node);
      ++stats.chunks;
      for (const uint8_t* part = first; part; part = next_part(part)) {
        score_part(part, score, part_scores);
        memo.append(part_scores, header_of(part).n_children);
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

// The search over at most `beam` paths (SearchMode::paths; tree_search.hpp defines it).

namespace {

// Equal bounds: nodes before labels, then the smaller id.
bool better(const SearchPath& a, const SearchPath& b) {
  if (a.bound != b.bound) return a.bound > b.bound;
  if ((a.child < 0) != (b.child < 0)) return b.child < 0;
  return a.child < 0 ? ~a.child < ~b.child : a.child < b.child;
}

// A leaf has labels only.
bool is_leaf(const uint8_t* part) {
  for (; part; part = next_part(part)) {
    const int32_t* children = children_of(part);
    if (std::any_of(children, children + header_of(part).n_children, [](int32_t child) { return child >= 0; }))
      return false;
  }
  return true;
}

}  // namespace

// Opens the node where a path is and calls visit(score, child) for its children. False if the budget is used up.
template <class Visit>
bool TreeSearch::open_path(const SearchPath& path, const Visit& visit) {
  node_ = {path.score, path.depth, path.child};
  if (!begin_node()) return false;
  alignas(64) float scores[chunk::kMostChildren];
  for (const uint8_t* part = store_->open(path.child); part; part = next_part(part)) {
    score_part(part, path.score, scores);
    const int64_t n = header_of(part).n_children;
    if (memo_) memo_->append(scores, static_cast<int>(n));
    stats_->classifiers += n;
    for (int64_t i = 0; i < n; ++i) visit(scores[i], children_of(part)[i]);
  }
  return true;
}

void TreeSearch::run_paths() {
  paths_.assign(1, {0.0f, 0.0f, 0, 0, is_leaf(store_->open(0))});
  bool in_budget = true;
  while (in_budget && !std::all_of(paths_.begin(), paths_.end(), [](const SearchPath& path) { return path.ended; })) {
    longer_paths_.clear();
    for (const SearchPath& path : paths_) {
      if (path.ended || !in_budget) {
        longer_paths_.push_back(path);
        continue;
      }
      in_budget = open_path(path, [&](float score, int32_t child) {
        const float bound = weighted(score, child);
        if (bound > Frontier::kNone && (child < 0 ? filter_->allows_label(~child) : filter_->allows_node(child)))
          longer_paths_.push_back({score, bound, child, path.depth + 1, false});
      });
    }
    const auto width = std::min(longer_paths_.size(), static_cast<size_t>(request_->beam));
    std::partial_sort(longer_paths_.begin(), longer_paths_.begin() + static_cast<int64_t>(width), longer_paths_.end(),
                      better);
    longer_paths_.resize(width);
    for (SearchPath& path : longer_paths_)
      path.ended = path.ended || path.child < 0 || is_leaf(store_->open(path.child));
    paths_.swap(longer_paths_);
  }
  for (const SearchPath& path : paths_) {
    if (path.child < 0)
      best_->offer(path.bound, ~path.child);
    else if (in_budget && path.bound >= best_->limit())
      in_budget = open_path(path, [&](float score, int32_t child) {
        const float bound = weighted(score, child);
        if (bound >= best_->kept_limit() && bound > Frontier::kNone && filter_->allows_label(~child))
          best_->offer(bound, ~child);
      });
  }
}

}  // namespace labeltrees::search
