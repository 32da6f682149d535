// The parents of nodes and labels. Only searches with candidates and ensembles need them, so they are found on first
// use.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tree/view.hpp"

namespace labeltrees {

class TreeLinks {
 public:
  TreeLinks(const TreeView& tree, std::string source) : tree_(tree), source_(std::move(source)) {}

  // Finds the parents when first called. Throws DamagedChunk if the arrays are not a tree. Thread-safe.
  void require();
  int32_t n_nodes() const { return static_cast<int32_t>(tree_.n_nodes); }
  int32_t parent_of_node(int32_t node) const { return node_parent_[node]; }      // -1 for the root
  int32_t parent_of_label(int32_t label) const { return label_parent_[label]; }  // -1 if the label is not in the tree

 private:
  TreeView tree_;
  std::string source_;
  std::once_flag once_;
  std::vector<int32_t> node_parent_, label_parent_;
};

}  // namespace labeltrees
