// Weights that labels' scores are multiplied with, prepared for many searches: with the largest weight below each node.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/links.hpp"

namespace labeltrees {

struct LabelWeights {
  const void* owner = nullptr;  // the engine whose trees the nodes belong to
  std::vector<std::vector<float>> tables;
  int64_t n_labels = 0;

  // logs: store logarithms, for searches whose scores are sums of logs. weights: n of them, finite and at least 0.
  // links(tree) returns the TreeLinks of a tree, which must have been required.
  template <class LinksOf>
  LabelWeights(const void* engine, const float* weights, int64_t n, bool logs, size_t n_trees, LinksOf&& links)
      : owner(engine), tables(n_trees), n_labels(n) {
    const float nothing = logs ? -std::numeric_limits<float>::infinity() : 0.0f;
    for (size_t tree = 0; tree < n_trees; ++tree) {
      const TreeLinks& of_tree = links(tree);
      tables[tree].assign(static_cast<size_t>(n + of_tree.n_nodes()), nothing);
      float* values = tables[tree].data() + n;
      for (int32_t label = 0; label < n; ++label) {
        const float value = logs ? std::log(weights[label]) : weights[label];
        values[~label] = value;
        for (int32_t node = of_tree.parent_of_label(label); node >= 0 && values[node] < value;) {
          values[node] = value;
          node = of_tree.parent_of_node(node);
        }
      }
    }
  }

  // Indexed with a child: ~label gives the weight of the label, a node the largest weight below it.
  const float* by_child(size_t tree) const { return tables[tree].data() + n_labels; }
};

}  // namespace labeltrees
