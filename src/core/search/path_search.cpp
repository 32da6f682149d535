// The search over at most `beam` paths (SearchMode::paths; tree_search.hpp defines it).
#include <algorithm>

#include "search/tree_search.hpp"

namespace labeltrees {

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
  for (const uint8_t* part = store_->open(path.child); part; part = next_part(part)) {
    score_part(part, path.score);
    const int64_t n = header_of(part).n_children;
    if (memo_) memo_->append(scores_, static_cast<int>(n));
    stats_->classifiers += n;
    for (int64_t i = 0; i < n; ++i) visit(scores_[i], children_of(part)[i]);
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
    else if (in_budget && !(request_->prune && path.bound < best_->limit()))
      in_budget = open_path(path, [&](float score, int32_t child) {
        const float bound = weighted(score, child);
        if (bound >= best_->kept_limit() && bound > Frontier::kNone && filter_->allows_label(~child))
          best_->offer(bound, ~child);
      });
  }
}

}  // namespace labeltrees
