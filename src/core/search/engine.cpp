#include "search/engine.hpp"

#include <algorithm>
#include <cmath>

namespace labeltrees {

namespace {
constexpr int64_t kQueriesPerTask = 32;
}

// Scratch taken from the pool for as long as this lives.
class SearchEngine::Borrowed {
 public:
  explicit Borrowed(SearchEngine& engine) : pool_(engine.pool_) {
    for (auto& slot : pool_)
      if (slot.load(std::memory_order_relaxed) && (scratch_ = slot.exchange(nullptr, std::memory_order_acquire)))
        return;
    scratch_ = new SearchScratch;
    scratch_->queries.resize(engine.trees_.size());
    scratch_->ancestors.resize(engine.trees_.size());
    scratch_->memos.resize(engine.trees_.size());
  }
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() {
    for (auto& slot : pool_) {
      SearchScratch* empty = nullptr;
      if (!slot.load(std::memory_order_relaxed) &&
          slot.compare_exchange_strong(empty, scratch_, std::memory_order_release, std::memory_order_relaxed))
        return;
    }
    delete scratch_;
  }
  SearchScratch& operator*() const { return *scratch_; }
  SearchScratch* operator->() const { return scratch_; }

 private:
  std::array<std::atomic<SearchScratch*>, 16>& pool_;
  SearchScratch* scratch_ = nullptr;
};

SearchEngine::~SearchEngine() {
  for (auto& slot : pool_) delete slot.load();
}

void SearchEngine::check_all() const {
  for (const auto& tree : trees_) tree->store.check_all();
}

void SearchEngine::set_query(SearchQuery& prepared, size_t tree, const QueryRows& rows, int64_t query) const {
  if (rows.indptr)
    prepared.set(rows.features + rows.indptr[query], rows.values + rows.indptr[query],
                 rows.indptr[query + 1] - rows.indptr[query], form(tree));
  else
    prepared.set_dense(rows.values + query * n_features_, form(tree));
}

// Leaves the k best in scratch.best, with sums of logs as scores for one tree, and means of probabilities for several.
void SearchEngine::run(SearchScratch& scratch, const SearchOptions& options, const LabelFilter* filters,
                       SearchStats& stats) {
  if (trees_.size() == 1) {
    scratch.best.start(options.k);
    scratch.tree_search.run(trees_[0]->store, scratch.queries[0], options, filters[0], scratch.best, stats);
    return;
  }
  // The k best of each tree, together, are scored in all trees. Each tree has its share of the budgets.
  auto n_trees = static_cast<int64_t>(trees_.size());
  SearchOptions share = options;
  if (options.max_chunks) share.max_chunks = std::max<int64_t>(options.max_chunks / n_trees, 1);
  if (options.max_microseconds) share.max_microseconds = std::max<int64_t>(options.max_microseconds / n_trees, 1);
  scratch.pooled.clear();
  for (int64_t tree = 0; tree < n_trees; ++tree) {
    scratch.memos[tree].clear();
    scratch.best.start(options.k);
    scratch.tree_search.run(trees_[tree]->store, scratch.queries[tree], share, filters[tree], scratch.best, stats,
                            &scratch.memos[tree]);
    if (share.losses) share.losses += trees_[tree]->store.n_nodes();
    for (const ScoredLabel& found : scratch.best.sorted()) scratch.pooled.push_back(found.label);
  }
  std::sort(scratch.pooled.begin(), scratch.pooled.end());
  scratch.pooled.erase(std::unique(scratch.pooled.begin(), scratch.pooled.end()), scratch.pooled.end());
  scratch.best.start(options.k);
  for (int32_t label : scratch.pooled) {
    float sum = 0.0f;
    for (int64_t tree = 0; tree < n_trees; ++tree)
      sum += std::exp(scratch.tree_search.path_score(trees_[tree]->store, trees_[tree]->links, scratch.queries[tree],
                                                     options.power, label, scratch.memos[tree], stats));
    scratch.best.offer(sum / static_cast<float>(n_trees), label);
  }
}

int64_t SearchEngine::write(SearchScratch& scratch, int64_t* labels, float* scores) const {
  int64_t n = 0;
  for (const ScoredLabel& found : scratch.best.sorted()) {
    labels[n] = found.label;
    scores[n++] = trees_.size() == 1 ? std::exp(found.score) : found.score;
  }
  return n;
}

void SearchEngine::search(const QueryRows& rows, const SearchOptions& options, const LabelLists& candidates,
                          const LabelLists& excluded, int n_threads, Job& job, const SearchResults& results) {
  auto n_trees = trees_.size();
  if (candidates.given() || n_trees > 1)
    for (const auto& tree : trees_) tree->links.require();
  Filters common;
  common.ancestors.resize(n_trees);
  auto mark = [&](const int32_t* labels, int64_t n, MarkSet& allowed, std::vector<MarkSet>& ancestors) {
    allowed.reserve(n_labels_);
    allowed.clear();
    for (int64_t i = 0; i < n; ++i) allowed.insert(labels[i]);
    for (size_t tree = 0; tree < n_trees; ++tree) {
      ancestors[tree].reserve(trees_[tree]->store.n_nodes());
      ancestors[tree].clear();
      mark_ancestors(trees_[tree]->links, labels, n, ancestors[tree]);
    }
  };
  bool for_all = candidates.given() && !candidates.indptr;
  if (for_all) mark(candidates.labels, candidates.n, common.allowed, common.ancestors);

  int64_t n_tasks = (rows.n + kQueriesPerTask - 1) / kQueriesPerTask;
  std::vector<std::unique_ptr<Borrowed>> borrowed(static_cast<size_t>(std::max(n_threads, 1)));
  parallel_for(n_tasks, n_threads, [&](int64_t task, int thread) {
    if (!borrowed[thread]) borrowed[thread] = std::make_unique<Borrowed>(*this);
    SearchScratch& scratch = **borrowed[thread];
    auto& filters = scratch.filters;
    filters.assign(n_trees, LabelFilter());
    int64_t end = std::min(rows.n, (task + 1) * kQueriesPerTask);
    for (int64_t query = task * kQueriesPerTask; query < end; ++query) {
      job.check();
      auto start = results.microseconds ? TreeSearch::Clock::now() : TreeSearch::Clock::time_point{};
      for (size_t tree = 0; tree < n_trees; ++tree) set_query(scratch.queries[tree], tree, rows, query);
      if (candidates.given()) {
        if (!for_all) mark(candidates.begin(query), candidates.size(query), scratch.allowed, scratch.ancestors);
        for (size_t tree = 0; tree < n_trees; ++tree) {
          filters[tree].labels = (for_all ? common.allowed : scratch.allowed).words();
          filters[tree].nodes = (for_all ? common.ancestors[tree] : scratch.ancestors[tree]).words();
        }
      }
      if (excluded.given()) {
        scratch.excluded.reserve(n_labels_);
        scratch.excluded.clear();
        for (int64_t i = 0; i < excluded.size(query); ++i) scratch.excluded.insert(excluded.begin(query)[i]);
        for (auto& filter : filters) filter.excluded = scratch.excluded.words();
      }
      SearchStats stats;
      run(scratch, options, filters.data(), stats);
      int64_t* labels = results.labels + query * options.k;
      float* scores = results.scores + query * options.k;
      int64_t n = write(scratch, labels, scores);
      std::fill(labels + n, labels + options.k, -1);
      std::fill(scores + n, scores + options.k, 0.0f);
      if (results.chunks) results.chunks[query] = stats.chunks;
      if (results.classifiers) results.classifiers[query] = stats.classifiers;
      if (results.depth) results.depth[query] = stats.depth;
      if (results.partial) results.partial[query] = stats.partial;
      if (results.microseconds)
        results.microseconds[query] =
            std::chrono::duration<float, std::micro>(TreeSearch::Clock::now() - start).count();
    }
    job.done += end - task * kQueriesPerTask;
  });
}

void SearchEngine::trace(int64_t tree, const QueryRows& rows, int64_t query, const SearchOptions& options,
                         std::vector<OpenNode>& opened) {
  Borrowed scratch(*this);
  set_query(scratch->queries[tree], tree, rows, query);
  SearchStats stats;
  SearchOptions own = options;
  if (own.losses)
    for (int64_t before = 0; before < tree; ++before) own.losses += trees_[before]->store.n_nodes();
  scratch->best.start(options.k);
  scratch->tree_search.run(trees_[tree]->store, scratch->queries[tree], own, LabelFilter(), scratch->best, stats,
                           nullptr, &opened);
}

int64_t SearchEngine::search_one(const int32_t* features, const float* values, int64_t n, const SearchOptions& options,
                                 int64_t* labels, float* scores) {
  if (trees_.size() > 1)
    for (const auto& tree : trees_) tree->links.require();
  Borrowed scratch(*this);
  for (size_t tree = 0; tree < trees_.size(); ++tree) scratch->queries[tree].set(features, values, n, form(tree));
  return finish_one(*scratch, options, labels, scores);
}

int64_t SearchEngine::search_one_dense(const float* row, const SearchOptions& options, int64_t* labels, float* scores) {
  if (trees_.size() > 1)
    for (const auto& tree : trees_) tree->links.require();
  Borrowed scratch(*this);
  for (size_t tree = 0; tree < trees_.size(); ++tree) scratch->queries[tree].set_dense(row, form(tree));
  return finish_one(*scratch, options, labels, scores);
}

int64_t SearchEngine::finish_one(SearchScratch& scratch, const SearchOptions& options, int64_t* labels, float* scores) {
  scratch.filters.assign(trees_.size(), LabelFilter());
  SearchStats stats;
  run(scratch, options, scratch.filters.data(), stats);
  return write(scratch, labels, scores);
}

}  // namespace labeltrees
