// The k best labels of a text: best-first search in a binary tree with one logistic unit a node. Exact, unless it is
// given budgets, or factors: then a node is taken for its score times its factor, and the search ends when no such hope
// reaches the k-th label found. Scores returned are the true ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "search/filter.hpp"
#include "search/links.hpp"
#include "simd/kernels.hpp"
#include "text/features.hpp"

namespace labeltrees {

struct HsOptions {
  int64_t k = 5;
  int64_t max_nodes = 0;           // evaluated; 0: no limit
  int64_t max_microseconds = 0;    // 0: no limit
  const float* factors = nullptr;  // of each node, 0 to 1; null: none
};

struct HsSearchStats {
  int64_t nodes = 0;     // whose unit was evaluated
  int32_t depth = 0;     // of the deepest child scored
  bool partial = false;  // a budget ended the search before its time
};

// Everything a query needs to work in; one a thread.
struct HsWorkspace {
  TextFeatures features;
  std::vector<float> hidden;
  struct Open {
    double hope;  // the score, or less by a factor
    double score;
    int32_t node, depth;
  };
  struct Found {
    double score;
    int32_t label;
  };
  std::vector<Open> open;    // a heap, the best at the front
  std::vector<Found> found;  // a heap, the worst of the k at the front
  MarkSet allowed, allowed_nodes, excluded;
  HsSearchStats stats;
  std::vector<Open>* trace = nullptr;  // gets the nodes whose unit is evaluated, in order, if there is one
  std::vector<int64_t> labels;         // of the one answer
  std::vector<float> scores;
};

class HsEngine {
 public:
  // A score is the product along the path of (probability + floor): fastText's floor, so that scores agree with its.
  static constexpr double kFloor = 1e-5;

  HsEngine(const FeatureMap& features, const float* input, const float* output, int64_t dim, int64_t stride,
           const TreeView& tree, int64_t height);

  int32_t n_labels() const { return tree_.n_labels; }
  int32_t n_nodes() const { return tree_.n_nodes; }
  TreeLinks& links() { return links_; }
  const FeatureMap& features() const { return features_; }

  // Best first; returns how many. None for a text without features.
  int64_t search(std::string_view text, const HsOptions& options, const LabelFilter& filter, HsWorkspace& room,
                 int64_t* labels, float* scores) const;

 private:
  friend class HsReplay;  // hsoftmax_counts.hpp
  using Clock = std::chrono::steady_clock;

  void descend(HsWorkspace::Open at, const HsOptions& options, const LabelFilter& filter, const float* hidden,
               Clock::time_point deadline, HsWorkspace& room) const;
  bool can_win(double hope, int64_t k, const HsWorkspace& room) const {
    return static_cast<int64_t>(room.found.size()) < k || hope * slack_ >= room.found.front().score;
  }
  void offer(double score, int32_t label, int64_t k, HsWorkspace& room) const;

  FeatureMap features_;
  const float *input_, *output_;
  int64_t dim_, stride_;
  TreeView tree_;
  TreeLinks links_;
  double slack_;  // with the floor a score may rise a little on its way down: by (1 + floor)^height at the most
};

}  // namespace labeltrees
