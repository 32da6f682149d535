#include "text/hsoftmax_search.hpp"

#include <algorithm>
#include <cmath>

#include "search/results.hpp"
#include "text/tokens.hpp"

namespace labeltrees::text {

namespace {

void prefetch_row(const float* row, int64_t stride) {
  for (int64_t i = 0; i < stride; i += 16) __builtin_prefetch(row + i);
}

}  // namespace

HsEngine::HsEngine(const FeatureMap& features, const float* input, const float* output, int64_t dim, int64_t stride,
                   const tree::TreeView& tree, int64_t height)
    : features_(features),
      input_(input),
      output_(output),
      dim_(dim),
      stride_(stride),
      tree_(tree),
      links_(tree, "tree"),
      line_end_(features.vocabulary().find(kLineEnd, fnv1a(kLineEnd))),
      slack_(std::pow(1.0 + kFloor, static_cast<double>(height)) * (1 + 1e-6)) {}  // and rounding

void HsEngine::search(const std::vector<std::string_view>& texts, const search::SearchRequest& request, int n_threads,
                      Job& job, const search::SearchResults& results) {
  require_links(request);
  search::search_batch(
      pool_, static_cast<int64_t>(texts.size()), n_threads, job,
      [&](HsScratch& scratch) { scratch.filters.start(1, retired_); },
      [&](int64_t first, int64_t end, HsScratch& scratch) {
        for (int64_t query = first; query < end; ++query) {
          job.check();
          auto begin = results.microseconds ? search::SearchClock::now() : search::SearchClock::time_point{};
          search::SearchStats stats;
          scratch.filters.set(request, query, n_labels(), false,
                              [&](size_t) -> const search::TreeLinks& { return links_; });
          const int64_t found =
              run(texts[query], request, scratch, results.labels_of(query), results.scores_of(query), stats);
          results.finish(query, found, stats, begin);
        }
      });
}

int64_t HsEngine::search_one(std::string_view text, const search::SearchRequest& request, int64_t* labels,
                             float* scores, search::SearchStats& stats) {
  require_links(request);
  Borrowed scratch(pool_);
  scratch->filters.start(1, retired_);
  scratch->filters.set(request, 0, n_labels(), false, [&](size_t) -> const search::TreeLinks& { return links_; });
  return run(text, request, *scratch, labels, scores, stats);
}

std::unique_ptr<search::LabelSet> HsEngine::make_set(const int32_t* ids, int64_t n) {
  links_.require();
  return std::make_unique<search::LabelSet>(this, ids, n, n_labels(), 1,
                                            [&](size_t) -> const search::TreeLinks& { return links_; });
}

void HsEngine::set_retired(const int32_t* ids, int64_t n) {
  if (n == 0) return retired_.set(nullptr);
  links_.require();
  retired_.set(std::make_shared<const search::RetiredLabels>(
      ids, n, n_labels(), 1, [&](size_t) -> const search::TreeLinks& { return links_; }));
}

std::unique_ptr<search::LabelWeights> HsEngine::make_weights(const float* weights) {
  links_.require();
  return std::make_unique<search::LabelWeights>(this, weights, n_labels(), false, 1,
                                                [&](size_t) -> const search::TreeLinks& { return links_; });
}

void HsEngine::trace(std::string_view text, const search::SearchRequest& request,
                     std::vector<HsScratch::Open>& opened) const {
  HsScratch scratch;
  std::vector<int64_t> labels(static_cast<size_t>(request.k));
  std::vector<float> scores(static_cast<size_t>(request.k));
  search::SearchStats stats;
  scratch.filters.start(1, retired_);
  scratch.trace = &opened;
  run(text, request, scratch, labels.data(), scores.data(), stats);
}

int64_t HsEngine::run(std::string_view text, const search::SearchRequest& request, HsScratch& scratch, int64_t* labels,
                      float* scores, search::SearchStats& stats) const {
  search::SearchClock::time_point deadline;
  if (request.max_microseconds)
    deadline = search::SearchClock::now() + std::chrono::microseconds(request.max_microseconds);
  scratch.open.clear();
  features_.read(text, true, scratch.features);
  const search::LabelFilter& filter = scratch.filters.of_tree(0);
  const float* weights = filter.weights;
  const std::vector<int32_t>& rows = scratch.features.rows;
  stats.no_features = rows.empty() || (rows.size() == 1 && rows[0] == line_end_);
  const search::SearchRequest wider = request.widened(std::min<int64_t>(request.n_compared(), n_labels()));
  if (scratch.features.n == 0 || (stats.no_features && prior_.known())) {
    search::BestLabels best;
    best.start(wider.k, wider.k, wider.limits, wider.limit_factor);
    prior_.find(filter, [&](int32_t label) { return weights ? weights[~label] : 1.0f; }, best);
    scratch.found = best.sorted();
    return write(request.by_prior(), scratch, labels, scores);
  }
  const float* hidden = hidden_of(scratch);
  // A little below the threshold, because of rounding: `write` compares the scores themselves.
  const double floor = request.threshold > 0.0f && !request.discounts ? request.threshold * (1 - 1e-6) : -1.0;
  scratch.best.start(wider.k, wider.k, wider.limits, wider.limit_factor, floor);
  scratch.open.push_back({weights ? weights[0] : 1.0, 1.0, 0, 0});
  while (!scratch.open.empty() && !stats.partial && can_win(scratch.open.front().priority, scratch))
    descend(scratch.pop(), request, hidden, deadline, scratch, stats);
  stats.classifiers = stats.chunks;  // a node has one unit
  scratch.found.clear();
  for (const search::Scored<double>& one : scratch.best.sorted()) {
    const double most = weights ? weights[~one.label] : 1.0;
    scratch.found.push_back({static_cast<float>(std::min(one.score, most)), one.label});
  }
  const int64_t n = write(request, scratch, labels, scores);
  if (request.calibration) request.calibration->apply(scores, n);
  return n;
}

int64_t HsEngine::write(const search::SearchRequest& request, HsScratch& scratch, int64_t* labels,
                        float* scores) const {
  if (request.selects())
    scratch.selection.choose(request, scratch.found, [&](int32_t a, int32_t b) { return links_.similarity(a, b); });
  return search::write_found(scratch.found, [](const search::ScoredLabel& one) { return one.score; }, labels, scores);
}

const float* HsEngine::hidden_of(HsScratch& scratch) const {
  scratch.hidden.resize(static_cast<size_t>(stride_ + 16));
  auto* hidden = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch.hidden.data()) + 63) & ~uintptr_t{63});
  const std::vector<int32_t>& rows = scratch.features.rows;
  for (int32_t row : rows) prefetch_row(input_ + row * stride_, stride_);
  simd::active_kernels().text.sum_rows(input_, stride_, rows.data(), static_cast<int64_t>(rows.size()), hidden);
  const float share = 1.0f / static_cast<float>(scratch.features.n);
  for (int64_t i = 0; i < stride_; ++i) hidden[i] *= share;
  return hidden;
}

// Follows the better child for as long as no other open node is better: most nodes then never enter the heap.
void HsEngine::descend(HsScratch::Open at, const search::SearchRequest& request, const float* hidden,
                       search::SearchClock::time_point deadline, HsScratch& scratch, search::SearchStats& stats) const {
  const simd::TextKernels& kernels = simd::active_kernels().text;
  const search::LabelFilter filter = scratch.filters.of_tree(0);
  for (;;) {
    if ((request.max_chunks && stats.chunks >= request.max_chunks) ||
        (request.max_microseconds && search::SearchClock::now() >= deadline)) {
      stats.partial = true;
      return;
    }
    const int32_t* children = tree_.children + tree_.child_ptr[at.node];
    const int64_t n = tree_.child_ptr[at.node + 1] - tree_.child_ptr[at.node];
    double score[2] = {at.score, at.score};
    if (n == 2) {
      const float second = second_share(kernels, at.node, hidden);
      score[0] *= (1.0f - second) + kFloor;
      score[1] *= second + kFloor;
      ++stats.chunks;
      if (scratch.trace) scratch.trace->push_back(at);
    }
    stats.depth = std::max(stats.depth, at.depth + 1);
    HsScratch::Open next{-1.0, -1.0, 0, at.depth + 1};
    for (int64_t i = 0; i < n; ++i) {
      const int32_t child = children[i];
      if (child < 0) {
        const double weight = filter.weights ? filter.weights[child] : 1.0;
        if (weight > 0 && filter.allows_label(~child)) scratch.best.offer(score[i] * weight, ~child);
      } else if (filter.allows_node(child) && !(filter.weights && filter.weights[child] == 0)) {
        const double priority = priority_of(score[i], child, request, filter);
        if (!can_win(priority, scratch)) continue;
        HsScratch::Open open{priority, score[i], child, at.depth + 1};
        if (open.priority > next.priority) std::swap(open, next);
        if (open.priority >= 0) scratch.push(open);
      }
    }
    if (next.priority < 0) return;
    if (!scratch.open.empty() && scratch.open.front().priority > next.priority) return scratch.push(next);
    if (!can_win(next.priority, scratch)) return;
    at = next;
  }
}

void HsCounts::write(int64_t* out) const {
  for (int64_t value : {bytes, features, rows, nodes, heap_steps}) *out++ = value;
}

// As HsEngine::run, without a filter and without budgets.
HsCounts HsReplay::count(std::string_view text, const search::SearchRequest& request,
                         std::vector<HsScratch::Open>& visits) {
  HsCounts counts;
  scratch_.open.clear();
  scratch_.best.start(request.k);
  engine_.features_.read(text, true, scratch_.features);
  counts.bytes = static_cast<int64_t>(text.size());
  counts.features = scratch_.features.n;
  counts.rows = static_cast<int64_t>(scratch_.features.rows.size());
  if (scratch_.features.n == 0) return counts;
  const float* hidden = engine_.hidden_of(scratch_);
  scratch_.push({1.0, 1.0, 0, 0});
  while (!scratch_.open.empty() && engine_.can_win(scratch_.open.front().priority, scratch_)) {
    ++counts.heap_steps;
    descend(scratch_.pop(), request, hidden, counts, visits);
  }
  return counts;
}

// As HsEngine::descend.
void HsReplay::descend(HsScratch::Open at, const search::SearchRequest& request, const float* hidden, HsCounts& counts,
                       std::vector<HsScratch::Open>& visits) {
  auto push = [&](const HsScratch::Open& node) {
    scratch_.push(node);
    ++counts.heap_steps;
  };
  for (;;) {
    const int64_t first = engine_.tree_.child_ptr[at.node], n = engine_.tree_.child_ptr[at.node + 1] - first;
    double score[2] = {at.score, at.score};
    if (n == 2) {
      visits.push_back(at);
      ++counts.nodes;
      const float second = engine_.second_share(simd::active_kernels().text, at.node, hidden);
      score[0] *= (1.0f - second) + HsEngine::kFloor;
      score[1] *= second + HsEngine::kFloor;
    }
    HsScratch::Open next{-1.0, -1.0, 0, at.depth + 1};
    for (int64_t i = 0; i < n; ++i) {
      const int32_t child = engine_.tree_.children[first + i];
      if (child < 0) {
        scratch_.best.offer(score[i], ~child);
        ++counts.heap_steps;
        continue;
      }
      const double priority = request.discounts ? score[i] * request.discounts[child] : score[i];
      if (!engine_.can_win(priority, scratch_)) continue;
      HsScratch::Open open{priority, score[i], child, at.depth + 1};
      if (open.priority > next.priority) std::swap(open, next);
      if (open.priority >= 0) push(open);
    }
    if (next.priority < 0) return;
    if (!scratch_.open.empty() && scratch_.open.front().priority > next.priority) return push(next);
    if (!engine_.can_win(next.priority, scratch_)) return;
    at = next;
  }
}

}  // namespace labeltrees::text
