// The parents of nodes and labels. Only searches with candidates and ensembles need them, so they are found on first
// use.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace labeltrees {

// The flat arrays of a LabelTree, possibly from a file and not yet checked beyond their sizes.
struct TreeArraysView {
  const int64_t* child_ptr;  // n_nodes + 1
  const int32_t* children;
  int64_t n_children;  // entries of `children`
  int32_t n_nodes;
  int32_t n_labels;
};

class TreeLinks {
 public:
  TreeLinks(const TreeArraysView& arrays, std::string source) : arrays_(arrays), source_(std::move(source)) {}

  // Finds the parents when first called. Throws DamagedChunk if the arrays are not a tree. Thread-safe.
  void require();
  int32_t n_nodes() const { return arrays_.n_nodes; }
  int32_t parent_of_node(int32_t node) const { return node_parent_[node]; }      // -1 for the root
  int32_t parent_of_label(int32_t label) const { return label_parent_[label]; }  // -1 if the label is not in the tree

 private:
  TreeArraysView arrays_;
  std::string source_;
  std::once_flag once_;
  std::vector<int32_t> node_parent_, label_parent_;
};

}  // namespace labeltrees
