// The k best labels of a text: exact best-first search in a binary tree with one logistic unit a node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "search_filter.hpp"
#include "search_links.hpp"
#include "simd/kernels.hpp"
#include "text_features.hpp"

namespace labeltrees {

struct HsSearchStats {
  int64_t nodes = 0;  // whose unit was evaluated
  int32_t depth = 0;  // of the deepest child scored
};

// Everything a query needs to work in; one a thread.
struct HsWorkspace {
  TextFeatures features;
  std::vector<float> hidden;
  struct Open {
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
  std::vector<int64_t> labels;  // of the one answer
  std::vector<float> scores;
};

class HsEngine {
 public:
  // A score is the product along the path of (probability + floor): fastText's floor, so that scores agree with its.
  static constexpr double kFloor = 1e-5;

  HsEngine(const FeatureMap& features, const float* input, const float* output, int64_t dim, int64_t stride,
           const TreeArraysView& tree, int64_t height);

  int32_t n_labels() const { return tree_.n_labels; }
  int32_t n_nodes() const { return tree_.n_nodes; }
  TreeLinks& links() { return links_; }
  const FeatureMap& features() const { return features_; }

  // Best first; returns how many. None for a text without features.
  int64_t search(std::string_view text, int64_t k, const LabelFilter& filter, HsWorkspace& room, int64_t* labels,
                 float* scores) const;

 private:
  friend class HsReplay;  // hsoftmax_counts.hpp
  void descend(HsWorkspace::Open at, int64_t k, const LabelFilter& filter, const float* hidden,
               HsWorkspace& room) const;
  bool can_win(double score, int64_t k, const HsWorkspace& room) const {
    return static_cast<int64_t>(room.found.size()) < k || score * slack_ >= room.found.front().score;
  }
  void offer(double score, int32_t label, int64_t k, HsWorkspace& room) const;

  FeatureMap features_;
  const float *input_, *output_;
  int64_t dim_, stride_;
  TreeArraysView tree_;
  TreeLinks links_;
  double slack_;  // with the floor a score may rise a little on its way down: by (1 + floor)^height at the most
};

}  // namespace labeltrees
