#include "text/hsoftmax_counts.hpp"

#include <algorithm>

namespace labeltrees {

void HsCounts::write(int64_t* out) const {
  for (int64_t value : {bytes, features, rows, nodes, heap_steps}) *out++ = value;
}

void HsReplay::evaluate(std::string_view text, bool sum, const int32_t* nodes, int64_t n) {
  engine_.features_.read(text, true, scratch_.features);
  if (!sum || scratch_.features.n == 0) return;
  const float* hidden = engine_.hidden_of(scratch_);
  const TextKernels& kernels = active_kernels().text;
  evaluated_.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) evaluated_[i] = engine_.second_share(kernels, nodes[i], hidden);
}

// As HsEngine::run, without a filter and without budgets.
HsCounts HsReplay::count(std::string_view text, const SearchRequest& request, std::vector<HsScratch::Open>& visits) {
  HsCounts counts;
  scratch_.open.clear();
  scratch_.found.clear();
  engine_.features_.read(text, true, scratch_.features);
  counts.bytes = static_cast<int64_t>(text.size());
  counts.features = scratch_.features.n;
  counts.rows = static_cast<int64_t>(scratch_.features.rows.size());
  if (scratch_.features.n == 0) return counts;
  const float* hidden = engine_.hidden_of(scratch_);
  scratch_.push({1.0, 1.0, 0, 0});
  while (!scratch_.open.empty() && engine_.can_win(scratch_.open.front().priority, request.k, scratch_)) {
    ++counts.heap_steps;
    descend(scratch_.pop(), request, hidden, counts, visits);
  }
  return counts;
}

// As HsEngine::descend.
void HsReplay::descend(HsScratch::Open at, const SearchRequest& request, const float* hidden, HsCounts& counts,
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
      const float second = engine_.second_share(active_kernels().text, at.node, hidden);
      score[0] *= (1.0f - second) + HsEngine::kFloor;
      score[1] *= second + HsEngine::kFloor;
    }
    HsScratch::Open next{-1.0, -1.0, 0, at.depth + 1};
    for (int64_t i = 0; i < n; ++i) {
      const int32_t child = engine_.tree_.children[first + i];
      if (child < 0) {
        engine_.offer(score[i], ~child, request.k, scratch_);
        ++counts.heap_steps;
        continue;
      }
      const double priority = request.discounts ? score[i] * request.discounts[child] : score[i];
      if (!engine_.can_win(priority, request.k, scratch_)) continue;
      HsScratch::Open open{priority, score[i], child, at.depth + 1};
      if (open.priority > next.priority) std::swap(open, next);
      if (open.priority >= 0) push(open);
    }
    if (next.priority < 0) return;
    if (!scratch_.open.empty() && scratch_.open.front().priority > next.priority) return push(next);
    if (!engine_.can_win(next.priority, request.k, scratch_)) return;
    at = next;
  }
}

}  // namespace labeltrees
