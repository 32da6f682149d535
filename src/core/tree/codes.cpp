#include <algorithm>
#include <cmath>
#include <numeric>

#include "tree/builder.hpp"
#include "tree/select_half.hpp"

namespace labeltrees::tree {

namespace {

// Positions by falling weight, ties by rising label.
std::vector<int64_t> by_falling_weight(const int32_t* labels, const double* weights, int64_t n) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return weights[i] != weights[j] ? weights[i] > weights[j] : labels[i] < labels[j];
  });
  return order;
}

TreeArrays single_label(int32_t label) { return {{0, 1}, {~label}}; }

}  // namespace

// Two queues, both by rising weight: the labels, and the nodes in the order they are made. Equal weights: a label
// before a node, which gives the lowest of the optimal trees.
TreeArrays huffman_tree(const int32_t* labels, const double* weights, int64_t n) {
  if (n == 1) return single_label(labels[0]);
  const std::vector<int64_t> falling = by_falling_weight(labels, weights, n);
  std::vector<double> mass(n - 1);
  std::vector<int32_t> children(2 * (n - 1));  // of the nodes in the order they are made
  int64_t next_label = n - 1, next_node = 0;   // labels are taken from the end of `falling`
  for (int64_t made = 0; made < n - 1; ++made) {
    for (int side : {1, 0}) {  // the lighter child is the right one
      const bool take_label = next_label >= 0 && (next_node == made || weights[falling[next_label]] <= mass[next_node]);
      if (take_label) {
        mass[made] += weights[falling[next_label]];
        children[2 * made + side] = ~labels[falling[next_label--]];
      } else {
        mass[made] += mass[next_node];
        children[2 * made + side] = static_cast<int32_t>(next_node++);
      }
    }
  }
  // The last node made is the root: reverse the numbering.
  TreeArrays tree;
  tree.child_ptr.resize(n);
  for (int64_t node = 0; node < n; ++node) tree.child_ptr[node] = 2 * node;
  tree.children.resize(children.size());
  for (int64_t made = 0; made < n - 1; ++made)
    for (int side : {0, 1}) {
      const int32_t child = children[2 * made + side];
      tree.children[2 * (n - 2 - made) + side] = child < 0 ? child : static_cast<int32_t>(n - 2 - child);
    }
  return tree;
}

// Orders the labels by falling weight and cuts where half of the weight is reached. The label that crosses goes to the
// nearer side, on a tie to the lighter labels. Every node sums its own labels: differences of prefix sums would lose
// the light ones.
TreeArrays fano_tree(const int32_t* labels, const double* weights, int64_t n) {
  if (n == 1) return single_label(labels[0]);
  const std::vector<int64_t> order = by_falling_weight(labels, weights, n);
  std::vector<double> falling(n);
  for (int64_t i = 0; i < n; ++i) falling[i] = weights[order[i]];

  TreeArrays tree;
  tree.child_ptr.push_back(0);
  struct Pending {
    int64_t first, last, slot;  // slot: position of this child in tree.children
  };
  std::vector<Pending> stack = {{0, n, -1}};
  while (!stack.empty()) {
    const auto [first, last, slot] = stack.back();
    stack.pop_back();
    if (last - first == 1) {
      tree.children[slot] = ~labels[order[first]];
      continue;
    }
    const auto node = static_cast<int32_t>(tree.child_ptr.size() - 1);
    if (slot >= 0) tree.children[slot] = node;
    const auto base = static_cast<int64_t>(tree.children.size());
    tree.children.resize(base + 2);
    tree.child_ptr.push_back(base + 2);

    const bool massless = !(falling[first] > 0);  // then all count the same
    if (massless) std::fill(falling.begin() + first, falling.begin() + last, 1.0);
    const double half = std::accumulate(falling.begin() + first, falling.begin() + last, 0.0) / 2;
    int64_t crossing = first;  // the first position at which the cumulated mass reaches half
    double above = 0;
    for (; crossing + 1 < last && above + falling[crossing] < half; ++crossing) above += falling[crossing];
    const double alpha = 2 * (half - above) / falling[crossing] - 1;
    const int64_t cut = std::clamp(alpha > kAlphaTie ? crossing + 1 : crossing, first + 1, last - 1);
    stack.push_back({cut, last, base + 1});
    stack.push_back({first, cut, base});
  }
  return tree;
}

}  // namespace labeltrees::tree
