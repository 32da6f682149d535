#include "search/engine.hpp"

#include <algorithm>
#include <cmath>

#include "search/results.hpp"

namespace labeltrees::search {

void SearchEngine::add_tree(const chunk::ChunkLimits& limits, const int64_t* offsets, const int32_t* feature_rank,
                            bool checked, const std::string& source, const tree::TreeView& tree,
                            const float* ceilings) {
  trees_.emplace_back(new StoredTree{{limits, offsets, feature_rank, link_, checked, source}, {tree, source}});
  trees_.back()->store.set_ceilings(ceilings);
}

void SearchEngine::check_all() const {
  for (const auto& tree : trees_) tree->store.check_all();
}

void SearchEngine::set_query(SearchQuery& prepared, size_t tree, const QueryRow& row) const {
  if (row.features)
    prepared.set(row.features, row.values, row.n, form(tree));
  else
    prepared.set_dense(row.values, form(tree));
}

std::vector<float> SearchEngine::margins(size_t tree, int32_t node, const QueryRows& rows) const {
  const SearchStore& store = trees_[tree]->store;
  const simd::Kernels& kernels = simd::active_kernels();
  QueryForm unscaled = form(tree);
  unscaled.normalize = false;
  SearchQuery query;
  RowCopy copy;
  alignas(64) float margins[chunk::kMostChildren];
  std::vector<float> out;
  for (int64_t row = 0; row < rows.n; ++row) {
    const QueryRow own = copy.of(rows, row, n_features_);
    if (own.features)
      query.set(own.features, own.values, own.n, unscaled);
    else
      query.set_dense(own.values, unscaled);
    for (const uint8_t* part = store.open(node); part; part = next_part(part)) {
      kernels.chunk_margins(part, query.view(), margins);
      out.insert(out.end(), margins, margins + header_of(part).n_children);
    }
  }
  return out;
}

void SearchEngine::require_links(const SearchRequest& request) const {
  if (request.candidates.given() || request.boosts.given() || request.diversity > 0.0f || trees_.size() > 1)
    for (const auto& tree : trees_) tree->links.require();
}

std::unique_ptr<LabelSet> SearchEngine::make_set(const int32_t* ids, int64_t n) const {
  for (const auto& tree : trees_) tree->links.require();
  return std::make_unique<LabelSet>(this, ids, n, n_labels_, trees_.size(),
                                    [&](size_t tree) -> const TreeLinks& { return trees_[tree]->links; });
}

std::unique_ptr<LabelWeights> SearchEngine::make_weights(const float* weights) const {
  for (const auto& tree : trees_) tree->links.require();
  return std::make_unique<LabelWeights>(this, weights, n_labels_, true, trees_.size(),
                                        [&](size_t tree) -> const TreeLinks& { return trees_[tree]->links; });
}

void SearchEngine::set_retired(const int32_t* ids, int64_t n) {
  if (n == 0) return retired_.set(nullptr);
  for (const auto& tree : trees_) tree->links.require();
  retired_.set(std::make_shared<const RetiredLabels>(
      ids, n, n_labels_, trees_.size(), [&](size_t tree) -> const TreeLinks& { return trees_[tree]->links; }));
}

void SearchEngine::start(SearchScratch& scratch) const {
  scratch.queries.resize(trees_.size());
  scratch.memos.resize(trees_.size());
  scratch.filters.start(trees_.size(), retired_);
}

void SearchEngine::set_filters(SearchScratch& scratch, const SearchRequest& request, int64_t query) {
  scratch.filters.set(request, query, n_labels_, true,
                      [&](size_t tree) -> const TreeLinks& { return trees_[tree]->links; });
}

void SearchEngine::find(SearchScratch& scratch, const SearchRequest& request, int64_t query, SearchStats& stats) {
  set_filters(scratch, request, query);
  if (trees_.size() > 1) return run_ensemble(scratch, request, stats);
  // A little below the threshold, because of rounding: `write_selected` compares the scores themselves.
  const float floor = request.threshold > 0.0f && !request.discounts
                          ? std::log(request.threshold) - 1e-5f * (1.0f + std::fabs(std::log(request.threshold)))
                          : Frontier::kNone;
  scratch.best.start(request.k, request.n_returned(), request.limits, request.limit_factor, floor);
  scratch.tree_search.run(trees_[0]->store, scratch.queries[0], request, scratch.filters.of_tree(0), scratch.best,
                          stats);
}

int64_t SearchEngine::run(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels,
                          float* scores, SearchStats& stats) {
  stats.no_features = scratch.queries[0].empty();
  if (answers_by_prior(scratch.queries[0])) return run_prior(scratch, request.by_prior(), query, labels, scores);
  const int64_t found = run_trees(scratch, request, query, labels, scores, stats);
  if (request.calibration) request.calibration->apply(scores, found);
  return found;
}

int64_t SearchEngine::run_trees(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels,
                                float* scores, SearchStats& stats) {
  if (blends(request)) return run_blended(scratch, request, query, labels, scores, stats);
  const bool one_tree = trees_.size() == 1;
  if (!request.selects()) {
    find(scratch, request, query, stats);
    auto score_of = [&](const ScoredLabel& found) { return one_tree ? std::exp(found.score) : found.score; };
    return write_found(scratch.best.sorted(), score_of, labels, scores);
  }
  find(scratch, request.widened(std::min<int64_t>(request.n_compared(), n_labels_)), query, stats);
  scratch.candidates = scratch.best.sorted();
  if (one_tree)
    for (ScoredLabel& found : scratch.candidates) found.score = std::exp(found.score);
  return write_selected(scratch, request, scratch.candidates, labels, scores);
}

float SearchEngine::similarity(int32_t a, int32_t b) const {
  float sum = 0.0f;
  for (const auto& tree : trees_) sum += tree->links.similarity(a, b);
  return sum / static_cast<float>(trees_.size());
}

int64_t SearchEngine::write_selected(SearchScratch& scratch, const SearchRequest& request,
                                     std::vector<ScoredLabel>& found, int64_t* labels, float* scores) const {
  scratch.selection.choose(request, found, [&](int32_t a, int32_t b) { return similarity(a, b); });
  return write_found(found, [](const ScoredLabel& one) { return one.score; }, labels, scores);
}

// Labels by how often they occur, for a query without a feature.
int64_t SearchEngine::run_prior(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels,
                                float* scores) {
  set_filters(scratch, request, query);
  const SearchRequest wider = request.widened(std::min<int64_t>(request.n_compared(), n_labels_));
  scratch.best.start(wider.k, wider.k, wider.limits, wider.limit_factor);
  const float* weights = scratch.filters.of_tree(0).weights;
  prior_.find(
      scratch.filters.of_tree(0), [&](int32_t label) { return weights ? std::exp(weights[~label]) : 1.0f; },
      scratch.best);
  scratch.candidates = scratch.best.sorted();
  return write_selected(scratch, request, scratch.candidates, labels, scores);
}

// The trees propose labels, the evidence adjusts their scores, and the k best are returned.
int64_t SearchEngine::run_blended(SearchScratch& scratch, const SearchRequest& request, int64_t query, int64_t* labels,
                                  float* scores, SearchStats& stats) {
  SearchRequest wider =
      request.widened(std::min<int64_t>(std::max<int64_t>(request.n_compared(), evidence_->n_searched), n_labels_));
  wider.n_candidates = std::min<int64_t>(evidence_->n_candidates, n_labels_);
  wider.threshold = 0.0f;  // evidence can raise a score
  find(scratch, wider, query, stats);
  scratch.candidates = scratch.best.sorted();
  if (trees_.size() == 1)
    for (ScoredLabel& found : scratch.candidates) found.score = std::exp(found.score);
  const LabelFilter& filter = scratch.filters.of_tree(0);
  scratch.evidence.propose(*evidence_, scratch.candidates, [&](int32_t label) { return filter.allows_label(label); });
  scratch.evidence.blend(*evidence_, scratch.candidates, scratch.filters.of_tree(0).weights);
  if (request.selects()) return write_selected(scratch, request, scratch.candidates, labels, scores);
  if (static_cast<int64_t>(scratch.candidates.size()) > request.k) scratch.candidates.resize(request.k);
  return write_found(scratch.candidates, [](const ScoredLabel& found) { return found.score; }, labels, scores);
}

// Scores the k best labels of every tree in all trees, and leaves the k best in scratch.best with the means of their
// probabilities, weighted. Each tree gets an equal share of the budgets.
void SearchEngine::run_ensemble(SearchScratch& scratch, const SearchRequest& request, SearchStats& stats) {
  auto n_trees = static_cast<int64_t>(trees_.size());
  SearchRequest share = request;
  if (request.max_chunks) share.max_chunks = std::max<int64_t>(request.max_chunks / n_trees, 1);
  if (request.max_microseconds) share.max_microseconds = std::max<int64_t>(request.max_microseconds / n_trees, 1);
  scratch.pooled.clear();
  for (int64_t tree = 0; tree < n_trees; ++tree) {
    scratch.memos[tree].clear();
    scratch.best.start(request.k, request.k, request.limits, request.limit_factor);
    scratch.tree_search.run(trees_[tree]->store, scratch.queries[tree], share, scratch.filters.of_tree(tree),
                            scratch.best, stats, &scratch.memos[tree]);
    if (share.discounts) share.discounts += trees_[tree]->store.n_nodes();
    for (const ScoredLabel& found : scratch.best.sorted()) scratch.pooled.push_back(found.label);
  }
  std::sort(scratch.pooled.begin(), scratch.pooled.end());
  scratch.pooled.erase(std::unique(scratch.pooled.begin(), scratch.pooled.end()), scratch.pooled.end());
  scratch.best.start(request.n_returned(), request.n_returned(), request.limits, request.limit_factor);
  const float* weights = scratch.filters.of_tree(0).weights;
  for (int32_t label : scratch.pooled) {
    float sum = 0.0f;
    for (int64_t tree = 0; tree < n_trees; ++tree)
      sum += std::exp(scratch.tree_search.path_score(trees_[tree]->store, trees_[tree]->links, scratch.queries[tree],
                                                     label, scratch.memos[tree], stats));
    const float weight = weights ? std::exp(weights[~label]) : 1.0f;
    scratch.best.offer(weight * sum / static_cast<float>(n_trees), label);
  }
}

void SearchEngine::search(const QueryRows& rows, const SearchRequest& request, int n_threads, Job& job,
                          const SearchResults& results) {
  require_links(request);
  search_batch(
      pool_, rows.n, n_threads, job, results, [&](SearchScratch& scratch) { start(scratch); },
      [&](int64_t query, SearchScratch& scratch, int64_t* labels, float* scores, SearchStats& stats) {
        const QueryRow row = scratch.row.of(rows, query, n_features_);
        for (size_t tree = 0; tree < trees_.size(); ++tree) set_query(scratch.queries[tree], tree, row);
        if (blends(request)) scratch.evidence.set_row(*evidence_, row.features, row.values, row.n);
        return run(scratch, request, query, labels, scores, stats);
      });
}

void SearchEngine::trace(int64_t tree, const QueryRow& row, const SearchRequest& request, std::vector<OpenNode>& opened,
                         std::vector<int32_t>* found) {
  Borrowed scratch(pool_);
  start(*scratch);
  set_query(scratch->queries[tree], tree, row);
  SearchRequest own = request;
  if (own.discounts)
    for (int64_t before = 0; before < tree; ++before) own.discounts += trees_[before]->store.n_nodes();
  // Lists per query are for a batch, of which this is one row.
  if (!request.candidates.per_query() && !request.exclude.per_query()) {
    require_links(request);
    set_filters(*scratch, request, 0);
  }
  SearchStats stats;
  scratch->best.start(request.k, request.k, request.limits);
  scratch->tree_search.run(trees_[tree]->store, scratch->queries[tree], own,
                           scratch->filters.of_tree(static_cast<size_t>(tree)), scratch->best, stats, nullptr, &opened);
  if (!found) return;
  for (const ScoredLabel& label : scratch->best.sorted()) found->push_back(label.label);
}

int64_t SearchEngine::search_one(const int32_t* features, const float* values, int64_t n, const SearchRequest& request,
                                 int64_t* labels, float* scores, SearchStats& stats) {
  require_links(request);
  Borrowed scratch(pool_);
  start(*scratch);
  for (size_t tree = 0; tree < trees_.size(); ++tree) scratch->queries[tree].set(features, values, n, form(tree));
  if (blends(request)) scratch->evidence.set_query(*evidence_, features, values, n);
  return run(*scratch, request, 0, labels, scores, stats);
}

int64_t SearchEngine::search_one_dense(const float* row, const SearchRequest& request, int64_t* labels, float* scores,
                                       SearchStats& stats) {
  require_links(request);
  Borrowed scratch(pool_);
  start(*scratch);
  for (size_t tree = 0; tree < trees_.size(); ++tree) scratch->queries[tree].set_dense(row, form(tree));
  if (blends(request)) scratch->evidence.set_dense_query(*evidence_, row);
  return run(*scratch, request, 0, labels, scores, stats);
}

}  // namespace labeltrees::search
