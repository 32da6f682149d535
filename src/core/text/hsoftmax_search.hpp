// The k best labels of a text: best-first search in a binary tree with one logistic unit per node. Exact, unless the
// request has budgets or discounts. With discounts, nodes are opened in the order of falling priority = score *
// exp(-discount), and the search ends when no priority reaches the k-th label found. Scores are returned undiscounted.
// With label weights, scores of labels are multiplied with their weights, and the priority of a node is its score times
// the largest weight of the labels below it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/memory.hpp"
#include "common/threads.hpp"
#include "search/best.hpp"
#include "search/label_rules.hpp"
#include "search/request.hpp"
#include "search/results.hpp"
#include "search/selection.hpp"
#include "simd/kernels.hpp"
#include "text/features.hpp"

namespace labeltrees::text {

// Working memory of one thread.
struct HsScratch {
  struct Open {
    double priority;  // the score, discounted
    double score;
    int32_t node, depth;
  };
  TextFeatures features;
  std::vector<float> hidden;
  std::vector<Open> open;  // a heap with the best node at the front
  search::BestOf<double> best;
  std::vector<search::ScoredLabel> found;
  search::Selection selection;
  search::QueryFilters filters;
  std::vector<Open>* trace = nullptr;  // if not null: receives the nodes whose unit is evaluated, in order

  // The nodes of `open`. Inline, because a search calls them for most nodes.
  static constexpr auto is_worse = [](const Open& a, const Open& b) { return a.priority < b.priority; };
  void push(const Open& node) {
    open.push_back(node);
    std::push_heap(open.begin(), open.end(), is_worse);
  }
  Open pop() {
    std::pop_heap(open.begin(), open.end(), is_worse);
    const Open best = open.back();
    open.pop_back();
    return best;
  }

  // `open` and `best` are left out: they grow with the model and k, not with the text.
  size_t held_bytes() const { return features.held_bytes(); }
};

class HsEngine {
 public:
  // A score is the product along the path of (probability + floor). This is fastText's floor, so that scores agree.
  static constexpr double kFloor = 1e-5;

  HsEngine(const FeatureMap& features, const float* input, const float* output, int64_t dim, int64_t stride,
           const tree::TreeView& tree, int64_t height);

  int32_t n_labels() const { return tree_.n_labels; }
  const FeatureMap& features() const { return features_; }

  void search(const std::vector<std::string_view>& texts, const search::SearchRequest& request, int n_threads, Job& job,
              const search::SearchResults& results);
  // One text: writes at most k labels and scores, and returns how many. A text without features has no labels, unless
  // there is a prior.
  int64_t search_one(std::string_view text, const search::SearchRequest& request, int64_t* labels, float* scores,
                     search::SearchStats& stats);
  // A set of labels for many searches.
  std::unique_ptr<search::LabelSet> make_set(const int32_t* ids, int64_t n);
  std::unique_ptr<search::LabelWeights> make_weights(const float* weights);  // one per label
  // No search returns these labels from now on.
  void set_retired(const int32_t* ids, int64_t n);
  // Texts without features get the most frequent labels from now on. counts: training points per label.
  void set_prior(const int64_t* counts, int64_t n_points) {
    prior_.set(counts, n_labels(), static_cast<double>(n_points));
  }
  // Adds the nodes that the search of one text evaluates to `opened`, in order.
  void trace(std::string_view text, const search::SearchRequest& request, std::vector<HsScratch::Open>& opened) const;

 private:
  friend class HsReplay;
  using Borrowed = ScratchPool<HsScratch>::Borrowed;

  // Searches with the filters set in `scratch`.
  int64_t run(std::string_view text, const search::SearchRequest& request, HsScratch& scratch, int64_t* labels,
              float* scores, search::SearchStats& stats) const;
  void descend(HsScratch::Open at, const search::SearchRequest& request, const float* hidden,
               search::SearchClock::time_point deadline, HsScratch& scratch, search::SearchStats& stats) const;
  // The value by which nodes are compared.
  static double priority_of(double score, int32_t node, const search::SearchRequest& request,
                            const search::LabelFilter& filter) {
    if (request.discounts) return score * request.discounts[node];
    return filter.weights ? score * filter.weights[node] : score;
  }
  // The mean of the vectors of the features read, in scratch.hidden.
  const float* hidden_of(HsScratch& scratch) const;
  // The probability of the second of a node's two children. Inline, with the kernels passed in, because a search calls
  // it for every node.
  float second_share(const simd::TextKernels& kernels, int32_t node, const float* hidden) const {
    const int32_t* children = tree_.children + tree_.child_ptr[node];
    for (int i = 0; i < 2; ++i)
      if (children[i] >= 0)
        for (int64_t j = 0; j < stride_; j += 16) __builtin_prefetch(output_ + children[i] * stride_ + j);
    float margin;
    kernels.dot_rows(output_, stride_, &node, 1, hidden, &margin);
    return 1.0f / (1.0f + std::exp(-margin));
  }
  bool can_win(double priority, const HsScratch& scratch) const { return priority * slack_ >= scratch.best.limit(); }
  // Makes the links if the request needs them.
  void require_links(const search::SearchRequest& request) {
    if (request.candidates.given() || request.boosts.given() || request.diversity > 0.0f) links_.require();
  }
  // Writes the list of a request from the labels in scratch.found, best first.
  int64_t write(const search::SearchRequest& request, HsScratch& scratch, int64_t* labels, float* scores) const;

  FeatureMap features_;
  const float *input_, *output_;
  int64_t dim_, stride_;
  tree::TreeView tree_;
  search::TreeLinks links_;
  search::RetiredState retired_;
  search::LabelPrior prior_;
  int32_t line_end_;  // the row of the end of a line, which every text has; -1 if there is none
  double slack_;      // because of the floor, a score can rise a little on the way down: by at most (1 + floor)^height
  ScratchPool<HsScratch> pool_;
};

// Counts the operations of searches of the text model by replaying them. The searches themselves count nothing, because
// that would slow them down (docs/decisions/0023).
struct HsCounts {
  int64_t bytes = 0;       // of the text
  int64_t features = 0;    // words and n-grams, including those without a row
  int64_t rows = 0;        // rows of the input matrix that are added up
  int64_t nodes = 0;       // nodes whose unit is evaluated
  int64_t heap_steps = 0;  // nodes pushed to the heap of open nodes or taken from it, labels offered to the results

  static constexpr int kFields = 5;
  void write(int64_t* out) const;
};

class HsReplay {
 public:
  explicit HsReplay(const HsEngine& engine) : engine_(engine) {}

  // The counts of a text's search; the nodes it evaluates are added to `visits`, in order.
  HsCounts count(std::string_view text, const search::SearchRequest& request, std::vector<HsScratch::Open>& visits);

 private:
  void descend(HsScratch::Open at, const search::SearchRequest& request, const float* hidden, HsCounts& counts,
               std::vector<HsScratch::Open>& visits);

  const HsEngine& engine_;
  HsScratch scratch_;
};

}  // namespace labeltrees::text
