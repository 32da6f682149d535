#include "text/hsoftmax_search.hpp"

#include <algorithm>
#include <cmath>

namespace labeltrees {

namespace {

bool is_worse(const HsWorkspace::Open& a, const HsWorkspace::Open& b) { return a.hope < b.hope; }

// Ties go to the smaller label.
bool is_better(const HsWorkspace::Found& a, const HsWorkspace::Found& b) {
  return a.score != b.score ? a.score > b.score : a.label < b.label;
}

float* aligned(std::vector<float>& room, int64_t n) {
  room.resize(static_cast<size_t>(n + 16));
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(room.data()) + 63) & ~uintptr_t{63});
}

}  // namespace

HsEngine::HsEngine(const FeatureMap& features, const float* input, const float* output, int64_t dim, int64_t stride,
                   const TreeView& tree, int64_t height)
    : features_(features),
      input_(input),
      output_(output),
      dim_(dim),
      stride_(stride),
      tree_(tree),
      links_(tree, "tree"),
      slack_(std::pow(1.0 + kFloor, static_cast<double>(height)) * (1 + 1e-6)) {}  // and rounding

int64_t HsEngine::search(std::string_view text, const HsOptions& options, const LabelFilter& filter, HsWorkspace& room,
                         int64_t* labels, float* scores) const {
  Clock::time_point deadline;
  if (options.max_microseconds) deadline = Clock::now() + std::chrono::microseconds(options.max_microseconds);
  room.open.clear();
  room.found.clear();
  room.stats = {};
  features_.read(text, true, room.features);
  if (room.features.n == 0) return 0;
  const TextKernels& kernels = active_kernels().text;
  float* hidden = aligned(room.hidden, stride_);
  const std::vector<int32_t>& rows = room.features.rows;
  for (int32_t row : rows)
    for (int64_t i = 0; i < stride_; i += 16) __builtin_prefetch(input_ + row * stride_ + i);
  kernels.sum_rows(input_, stride_, rows.data(), static_cast<int64_t>(rows.size()), hidden);
  const float share = 1.0f / static_cast<float>(room.features.n);
  for (int64_t i = 0; i < stride_; ++i) hidden[i] *= share;

  room.open.push_back({1.0, 1.0, 0, 0});
  while (!room.open.empty() && !room.stats.partial && can_win(room.open.front().hope, options.k, room)) {
    std::pop_heap(room.open.begin(), room.open.end(), is_worse);
    const HsWorkspace::Open best = room.open.back();
    room.open.pop_back();
    descend(best, options, filter, hidden, deadline, room);
  }
  std::sort_heap(room.found.begin(), room.found.end(), is_better);
  for (size_t i = 0; i < room.found.size(); ++i) {
    labels[i] = room.found[i].label;
    scores[i] = static_cast<float>(std::min(room.found[i].score, 1.0));
  }
  return static_cast<int64_t>(room.found.size());
}

// Follows the better child for as long as no other open node is better: most nodes then never see the heap.
void HsEngine::descend(HsWorkspace::Open at, const HsOptions& options, const LabelFilter& filter, const float* hidden,
                       Clock::time_point deadline, HsWorkspace& room) const {
  const TextKernels& kernels = active_kernels().text;
  const int64_t k = options.k;
  for (;;) {
    if ((options.max_nodes && room.stats.nodes >= options.max_nodes) ||
        (options.max_microseconds && Clock::now() >= deadline)) {
      room.stats.partial = true;
      return;
    }
    const int32_t* children = tree_.children + tree_.child_ptr[at.node];
    const int64_t n = tree_.child_ptr[at.node + 1] - tree_.child_ptr[at.node];
    double score[2] = {at.score, at.score};
    if (n == 2) {
      for (int i = 0; i < 2; ++i)
        if (children[i] >= 0) {
          const float* row = output_ + children[i] * stride_;
          for (int64_t j = 0; j < stride_; j += 16) __builtin_prefetch(row + j);
        }
      float margin;
      kernels.dot_rows(output_, stride_, &at.node, 1, hidden, &margin);
      const float second = 1.0f / (1.0f + std::exp(-margin));
      score[0] *= (1.0f - second) + kFloor;
      score[1] *= second + kFloor;
      ++room.stats.nodes;
      if (room.trace) room.trace->push_back(at);
    }
    room.stats.depth = std::max(room.stats.depth, at.depth + 1);
    HsWorkspace::Open next{-1.0, -1.0, 0, at.depth + 1};
    for (int64_t i = 0; i < n; ++i) {
      const int32_t child = children[i];
      if (child < 0) {
        if (filter.allows_label(~child)) offer(score[i], ~child, k, room);
      } else if (filter.allows_node(child)) {
        const double hope = options.factors ? score[i] * options.factors[child] : score[i];
        if (!can_win(hope, k, room)) continue;
        HsWorkspace::Open open{hope, score[i], child, at.depth + 1};
        if (open.hope > next.hope) std::swap(open, next);
        if (open.hope >= 0) {
          room.open.push_back(open);
          std::push_heap(room.open.begin(), room.open.end(), is_worse);
        }
      }
    }
    if (next.hope < 0) return;
    if (!room.open.empty() && room.open.front().hope > next.hope) {
      room.open.push_back(next);
      std::push_heap(room.open.begin(), room.open.end(), is_worse);
      return;
    }
    if (!can_win(next.hope, k, room)) return;
    at = next;
  }
}

void HsEngine::offer(double score, int32_t label, int64_t k, HsWorkspace& room) const {
  const HsWorkspace::Found found{score, label};
  if (static_cast<int64_t>(room.found.size()) == k) {
    if (!is_better(found, room.found.front())) return;
    std::pop_heap(room.found.begin(), room.found.end(), is_better);
    room.found.back() = found;
  } else {
    room.found.push_back(found);
  }
  std::push_heap(room.found.begin(), room.found.end(), is_better);
}

}  // namespace labeltrees
