#include "search/engine.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "search/results.hpp"
#include "search/set_ceilings.hpp"

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

void SearchEngine::pack(const LabelSet& set) const {
  if (matrices_) return;
  set.pack(trees_.size(), [&](size_t tree) -> std::shared_ptr<const SetCeilings> {
    LabelFilter filter;
    filter.labels = set.labels.data();
    filter.nodes = set.inside[tree].data();
    auto ceilings = std::make_shared<const SetCeilings>(trees_[tree]->store, filter);
    return ceilings->n_parts() == 0 ? nullptr : std::move(ceilings);
  });
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

SearchRequest SearchEngine::searched(const SearchRequest& request) const {
  if (!blends(request))
    return request.selects() ? request.widened(std::min<int64_t>(request.n_compared(), n_labels_)) : request;
  SearchRequest wider =
      request.widened(std::min<int64_t>(std::max<int64_t>(request.n_compared(), evidence_->n_searched), n_labels_));
  wider.n_candidates = std::min<int64_t>(evidence_->n_candidates, n_labels_);
  wider.threshold = 0.0f;  // evidence can raise a score
  return wider;
}

void SearchEngine::start(SearchScratch& scratch, const SearchRequest& request, size_t n_flights) const {
  const bool per_query = request.candidates.per_query() || request.exclude.per_query();
  if (!per_query) scratch.filters.start(trees_.size(), retired_);
  for (size_t i = 0; i < n_flights; ++i) {
    QueryInFlight& flight = scratch.flights[i];
    flight.queries.resize(trees_.size());
    flight.memos.resize(trees_.size());
    flight.filters = per_query ? &flight.own_filters : &scratch.filters;
    if (per_query) flight.own_filters.start(trees_.size(), retired_);
  }
}

void SearchEngine::set_queries(QueryInFlight& flight, const QueryRow& row) const {
  flight.row = row;
  for (size_t tree = 0; tree < trees_.size(); ++tree) set_query(flight.queries[tree], tree, row);
}

void SearchEngine::set_filters(QueryInFlight& flight, const SearchRequest& request, int64_t query) const {
  flight.filters->set(request, query, n_labels_, true,
                      [&](size_t tree) -> const TreeLinks& { return trees_[tree]->links; });
}

void SearchEngine::begin(QueryInFlight& flight, const SearchRequest& request, const SearchRequest& searched,
                         int64_t query) const {
  flight.query = query;
  flight.stats = {};
  flight.stats.no_features = flight.queries[0].empty();
  set_filters(flight, request, query);
  flight.tree = 0;
  flight.pooled.clear();
  if (answers_by_prior(flight.queries[0])) {
    flight.tree = trees_.size();
    return;
  }
  flight.request = searched;
  const auto n_trees = static_cast<int64_t>(trees_.size());  // each tree gets an equal share of the budgets
  for (int64_t* budget : {&flight.request.max_chunks, &flight.request.max_microseconds})
    if (*budget) *budget = std::max<int64_t>(*budget / n_trees, 1);
  begin_tree(flight);
}

void SearchEngine::begin_tree(QueryInFlight& flight) const {
  const SearchRequest& request = flight.request;
  const bool one_tree = trees_.size() == 1;
  // A little below the threshold, because of rounding: `write_selected` compares the scores themselves.
  const float floor = one_tree && request.threshold > 0.0f && !request.discounts
                          ? std::log(request.threshold) - 1e-5f * (1.0f + std::fabs(std::log(request.threshold)))
                          : Frontier::kNone;
  flight.best.start(request.k, one_tree ? request.n_returned() : request.k, request.limits, request.limit_factor,
                    floor);
  flight.memos[flight.tree].clear();
  flight.search.start(trees_[flight.tree]->store, flight.queries[flight.tree], request,
                      flight.filters->of_tree(flight.tree), flight.best, flight.stats,
                      one_tree ? nullptr : &flight.memos[flight.tree]);
}

bool SearchEngine::step(QueryInFlight& flight) const {
  if (flight.tree == trees_.size()) return false;
  if (flight.search.step()) return true;
  if (trees_.size() > 1)
    for (const ScoredLabel& found : flight.best.sorted()) flight.pooled.push_back(found.label);
  if (flight.request.discounts) flight.request.discounts += trees_[flight.tree]->store.n_nodes();
  if (++flight.tree == trees_.size()) return false;
  begin_tree(flight);
  return true;
}

int64_t SearchEngine::finish(SearchScratch& scratch, QueryInFlight& flight, const SearchRequest& request,
                             int64_t* labels, float* scores) const {
  if (answers_by_prior(flight.queries[0])) return finish_prior(scratch, flight, request.by_prior(), labels, scores);
  const int64_t found = finish_trees(scratch, flight, request, labels, scores);
  if (request.calibration) request.calibration->apply(scores, found);
  return found;
}

int64_t SearchEngine::finish_trees(SearchScratch& scratch, QueryInFlight& flight, const SearchRequest& request,
                                   int64_t* labels, float* scores) const {
  const bool one_tree = trees_.size() == 1;
  if (!one_tree) average_trees(flight);
  if (!blends(request) && !request.selects()) {
    auto score_of = [&](const ScoredLabel& found) { return one_tree ? std::exp(found.score) : found.score; };
    return write_found(flight.best.sorted(), score_of, labels, scores);
  }
  scratch.candidates = flight.best.sorted();
  if (one_tree)
    for (ScoredLabel& found : scratch.candidates) found.score = std::exp(found.score);
  if (blends(request)) {  // the trees propose labels, the evidence adjusts their scores
    scratch.evidence.set_row(*evidence_, flight.row.features, flight.row.values, flight.row.n);
    const LabelFilter& filter = flight.filters->of_tree(0);
    scratch.evidence.propose(*evidence_, scratch.candidates, [&](int32_t label) { return filter.allows_label(label); });
    scratch.evidence.propose_names(*evidence_, filter, scratch.candidates);
    scratch.evidence.blend(*evidence_, scratch.candidates, filter.weights);
  }
  if (request.selects()) return write_selected(scratch, request, scratch.candidates, labels, scores);
  if (static_cast<int64_t>(scratch.candidates.size()) > request.k) scratch.candidates.resize(request.k);
  return write_found(scratch.candidates, [](const ScoredLabel& found) { return found.score; }, labels, scores);
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

// Returns the most frequent labels, for a query without features.
int64_t SearchEngine::finish_prior(SearchScratch& scratch, QueryInFlight& flight, const SearchRequest& request,
                                   int64_t* labels, float* scores) const {
  const SearchRequest wider = request.widened(std::min<int64_t>(request.n_compared(), n_labels_));
  flight.best.start(wider.k, wider.k, wider.limits, wider.limit_factor);
  const float* weights = flight.filters->of_tree(0).weights;
  prior_.find(
      flight.filters->of_tree(0), [&](int32_t label) { return weights ? std::exp(weights[~label]) : 1.0f; },
      flight.best);
  scratch.candidates = flight.best.sorted();
  return write_selected(scratch, request, scratch.candidates, labels, scores);
}

// Scores the k best labels of every tree in all trees.
void SearchEngine::average_trees(QueryInFlight& flight) const {
  const SearchRequest& request = flight.request;
  std::sort(flight.pooled.begin(), flight.pooled.end());
  flight.pooled.erase(std::unique(flight.pooled.begin(), flight.pooled.end()), flight.pooled.end());
  flight.best.start(request.n_returned(), request.n_returned(), request.limits, request.limit_factor);
  const float* weights = flight.filters->of_tree(0).weights;
  for (int32_t label : flight.pooled) {
    float sum = 0.0f;
    for (size_t tree = 0; tree < trees_.size(); ++tree)
      sum += std::exp(flight.search.path_score(trees_[tree]->store, trees_[tree]->links, flight.queries[tree], label,
                                               flight.memos[tree], flight.stats));
    const float weight = weights ? std::exp(weights[~label]) : 1.0f;
    flight.best.offer(weight * sum / static_cast<float>(trees_.size()), label);
  }
}

void SearchEngine::search(const QueryRows& rows, const SearchRequest& request, int n_threads, Job& job,
                          const SearchResults& results) {
  require_links(request);
  if (request.candidate_set && !request.beam && rows.n >= kPackedQueries) pack(*request.candidate_set);
  const SearchRequest wider = searched(request);
  // Searches run one after another if they do not wait for memory, if time is measured, or if each would need its own
  // table of boosted weights.
  const bool per_query = request.candidates.per_query() || request.exclude.per_query();
  const bool waits =
      std::any_of(trees_.begin(), trees_.end(), [](const auto& tree) { return !tree->store.is_small(); });
  const bool in_turn =
      waits && !results.microseconds && !request.max_microseconds && !(per_query && request.boosts.given());
  const size_t n_flights = in_turn ? SearchScratch::kInFlight : 1;
  search_batch(
      pool_, rows.n, n_threads, job, [&](SearchScratch& scratch) { start(scratch, request, n_flights); },
      [&](int64_t first, int64_t end, SearchScratch& scratch) {
        auto begin_next = [&](QueryInFlight& flight) {
          job.check();
          if (results.microseconds) flight.begin = SearchClock::now();
          set_queries(flight, flight.copy.of(rows, first, n_features_));
          begin(flight, request, wider, first++);
        };
        std::array<QueryInFlight*, SearchScratch::kInFlight> live;
        size_t n_live = 0;
        for (; n_live < n_flights && first < end; ++n_live) begin_next(*(live[n_live] = &scratch.flights[n_live]));
        while (n_live > 0) {
          for (size_t i = 0; i < n_live; ++i) {
            QueryInFlight& flight = *live[i];
            if (step(flight)) continue;
            const int64_t query = flight.query;
            const int64_t found = finish(scratch, flight, request, results.labels_of(query), results.scores_of(query));
            results.finish(query, found, flight.stats, flight.begin);
            if (first < end)
              begin_next(flight);
            else
              live[i--] = live[--n_live];
          }
        }
      });
}

int64_t SearchEngine::answer(SearchScratch& scratch, const QueryRow& row, const SearchRequest& request, int64_t* labels,
                             float* scores, SearchStats& stats) const {
  start(scratch, request, 1);
  QueryInFlight& flight = scratch.flights[0];
  set_queries(flight, row);
  begin(flight, request, searched(request), 0);
  while (step(flight)) {
  }
  const int64_t found = finish(scratch, flight, request, labels, scores);
  stats = flight.stats;
  return found;
}

void SearchEngine::trace(int64_t tree, const QueryRow& row, const SearchRequest& request, std::vector<OpenNode>& opened,
                         std::vector<int32_t>* found) {
  Borrowed scratch(pool_);
  start(*scratch, request, 1);
  QueryInFlight& flight = scratch->flights[0];
  set_query(flight.queries[tree], tree, row);
  flight.request = request;
  if (request.discounts)
    for (int64_t before = 0; before < tree; ++before) flight.request.discounts += trees_[before]->store.n_nodes();
  // Lists per query are ignored: this row's place in their batch is unknown.
  if (!request.candidates.per_query() && !request.exclude.per_query()) {
    require_links(request);
    set_filters(flight, request, 0);
  }
  flight.best.start(request.k, request.k, request.limits);
  flight.search.start(trees_[tree]->store, flight.queries[tree], flight.request,
                      flight.filters->of_tree(static_cast<size_t>(tree)), flight.best, flight.stats, nullptr, &opened);
  while (flight.search.step()) {
  }
  if (!found) return;
  for (const ScoredLabel& label : flight.best.sorted()) found->push_back(label.label);
}

int64_t SearchEngine::search_one(const int32_t* features, const float* values, int64_t n, const SearchRequest& request,
                                 int64_t* labels, float* scores, SearchStats& stats) {
  static const int32_t none = 0;  // a row without features is not dense
  require_links(request);
  Borrowed scratch(pool_);
  return answer(*scratch, {n ? features : &none, values, n}, request, labels, scores, stats);
}

int64_t SearchEngine::search_one_dense(const float* row, const SearchRequest& request, int64_t* labels, float* scores,
                                       SearchStats& stats) {
  require_links(request);
  Borrowed scratch(pool_);
  return answer(*scratch, {nullptr, row, n_features_}, request, labels, scores, stats);
}

}  // namespace labeltrees::search
