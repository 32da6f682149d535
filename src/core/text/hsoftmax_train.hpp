// Trains fastText's supervised hierarchical softmax on any binary tree, by stochastic gradient steps of threads without
// locks (Hogwild).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "text/features.hpp"
#include "text/source.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::text {

// A binary tree with links from the labels up to the root, as training follows them.
//
// A link is parent << 1 | (1 if this is the parent's second child), or -1 at the root. A node with one child decides
// nothing, so links skip it.
class UpwardLinks {
 public:
  explicit UpwardLinks(const tree::TreeView& tree)
      : of_node_(static_cast<size_t>(tree.n_nodes), -1), of_label_(static_cast<size_t>(tree.n_labels), kUnplaced) {
    for (int64_t node = 0; node < tree.n_nodes; ++node) {  // a parent comes before its children
      const int64_t begin = tree.child_ptr[node], n = tree.n_children(node);
      for (int64_t i = 0; i < n; ++i) {
        const int32_t child = tree.children[begin + i];
        const int32_t link = n == 1 ? of_node_[node] : static_cast<int32_t>(node << 1 | i);
        (child >= 0 ? of_node_[child] : of_label_[~child]) = link;
      }
    }
  }

  bool is_placed(int32_t label) const { return of_label_[label] != kUnplaced; }

  // OUT: nodes, the path from a label up to the root, the nearest node first; codes, which child (0 or 1) of each node
  // leads to the label.
  void path(int32_t label, std::vector<int32_t>& nodes, std::vector<float>& codes) const {
    nodes.clear();
    codes.clear();
    for (int32_t link = of_label_[label]; link >= 0; link = of_node_[link >> 1]) {
      nodes.push_back(link >> 1);
      codes.push_back(static_cast<float>(link & 1));
    }
  }

 private:
  static constexpr int32_t kUnplaced = -2;
  std::vector<int32_t> of_node_, of_label_;
};

// The parameters of the model. A row is `stride` floats, a multiple of 16, and starts at a multiple of 64 bytes.
struct HsMatrices {
  float* input;   // (n_rows, stride)
  float* output;  // (n_nodes, stride)
  int64_t n_rows, n_nodes, dim, stride;
};

// The labels of texts in memory; null if they are in the lines of a file.
struct HsLabels {
  const int64_t* indptr = nullptr;
  const int32_t* labels = nullptr;
  const float* weights = nullptr;  // per text, with mean 1; null: all 1
};

struct HsSettings {
  float lr;
  int64_t epochs;
  uint64_t seed;
  int n_threads;
  bool shuffle;  // every epoch in another order; false: in order, as in fastText
};

// Can be read while training runs.
struct HsProgress {
  std::atomic<double> loss{0};  // mean over recent texts
};

// OUT: matrices.input, uniform in (-1/dim, 1/dim) and the same for any number of threads.
void start_input(const HsMatrices& matrices, uint64_t seed, int n_threads);

// IN: n_tokens, of one epoch. IN and OUT: matrices. job.done counts tokens. Only with one thread does the same seed
// give the same bytes.
void train_hsoftmax(const HsMatrices& matrices, const UpwardLinks& tree, const TextSource& source,
                    const FeatureMap& features, const HsLabels& labels, int64_t n_tokens, const HsSettings& settings,
                    Job& job, HsProgress& progress);

}  // namespace labeltrees::text
