#include "text/hsoftmax_counts.hpp"

#include <algorithm>
#include <cmath>

namespace labeltrees {

namespace {

bool is_worse(const HsWorkspace::Open& a, const HsWorkspace::Open& b) { return a.hope < b.hope; }

}  // namespace

void HsCounts::write(int64_t* out) const {
  for (int64_t value : {bytes, features, rows, nodes, heap_steps}) *out++ = value;
}

const float* HsReplay::sum_rows() {
  room_.hidden.resize(static_cast<size_t>(engine_.stride_ + 16));
  auto* hidden = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(room_.hidden.data()) + 63) & ~uintptr_t{63});
  const std::vector<int32_t>& rows = room_.features.rows;
  for (int32_t row : rows)
    for (int64_t i = 0; i < engine_.stride_; i += 16) __builtin_prefetch(engine_.input_ + row * engine_.stride_ + i);
  active_kernels().text.sum_rows(engine_.input_, engine_.stride_, rows.data(), static_cast<int64_t>(rows.size()),
                                 hidden);
  const float share = 1.0f / static_cast<float>(room_.features.n);
  for (int64_t i = 0; i < engine_.stride_; ++i) hidden[i] *= share;
  return hidden;
}

float HsReplay::second_share(int32_t node, const float* hidden) {
  const int32_t* children = engine_.tree_.children + engine_.tree_.child_ptr[node];
  for (int i = 0; i < 2; ++i)
    if (children[i] >= 0) {
      const float* row = engine_.output_ + children[i] * engine_.stride_;
      for (int64_t j = 0; j < engine_.stride_; j += 16) __builtin_prefetch(row + j);
    }
  float margin;
  active_kernels().text.dot_rows(engine_.output_, engine_.stride_, &node, 1, hidden, &margin);
  return 1.0f / (1.0f + std::exp(-margin));
}

void HsReplay::evaluate(std::string_view text, bool sum, const int32_t* nodes, int64_t n) {
  engine_.features_.read(text, true, room_.features);
  if (!sum || room_.features.n == 0) return;
  const float* hidden = sum_rows();
  evaluated_.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) evaluated_[i] = second_share(nodes[i], hidden);
}

// As HsEngine::search and HsEngine::descend go, without a filter and without budgets.
HsCounts HsReplay::count(std::string_view text, const HsOptions& options, std::vector<HsWorkspace::Open>& visits) {
  HsCounts counts;
  const int64_t k = options.k;
  room_.open.clear();
  room_.found.clear();
  engine_.features_.read(text, true, room_.features);
  counts.bytes = static_cast<int64_t>(text.size());
  counts.features = room_.features.n;
  counts.rows = static_cast<int64_t>(room_.features.rows.size());
  if (room_.features.n == 0) return counts;
  const float* hidden = sum_rows();
  auto enter = [&](const HsWorkspace::Open& node) {
    room_.open.push_back(node);
    std::push_heap(room_.open.begin(), room_.open.end(), is_worse);
    ++counts.heap_steps;
  };
  enter({1.0, 1.0, 0, 0});
  --counts.heap_steps;  // it is there from the start
  while (!room_.open.empty() && engine_.can_win(room_.open.front().hope, k, room_)) {
    std::pop_heap(room_.open.begin(), room_.open.end(), is_worse);
    HsWorkspace::Open at = room_.open.back();
    room_.open.pop_back();
    ++counts.heap_steps;
    for (bool going_down = true; going_down;) {
      const int64_t first = engine_.tree_.child_ptr[at.node], n = engine_.tree_.child_ptr[at.node + 1] - first;
      double score[2] = {at.score, at.score};
      if (n == 2) {
        visits.push_back(at);
        ++counts.nodes;
        const float second = second_share(at.node, hidden);
        score[0] *= (1.0f - second) + HsEngine::kFloor;
        score[1] *= second + HsEngine::kFloor;
      }
      HsWorkspace::Open next{-1.0, -1.0, 0, at.depth + 1};
      for (int64_t i = 0; i < n; ++i) {
        const int32_t child = engine_.tree_.children[first + i];
        if (child < 0) {
          engine_.offer(score[i], ~child, k, room_);
          ++counts.heap_steps;
          continue;
        }
        const double hope = options.factors ? score[i] * options.factors[child] : score[i];
        if (!engine_.can_win(hope, k, room_)) continue;
        HsWorkspace::Open open{hope, score[i], child, at.depth + 1};
        if (open.hope > next.hope) std::swap(open, next);
        if (open.hope >= 0) enter(open);
      }
      going_down = next.hope >= 0 && engine_.can_win(next.hope, k, room_);
      if (next.hope >= 0 && !room_.open.empty() && room_.open.front().hope > next.hope) {
        enter(next);
        going_down = false;
      }
      at = next;
    }
  }
  return counts;
}

}  // namespace labeltrees
