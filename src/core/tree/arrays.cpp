#include "tree/arrays.hpp"

#include <algorithm>
#include <vector>

namespace labeltrees::tree {

TreeCheck find_parents(const TreeView& tree, int32_t* parent, int32_t* label_parent) {
  // All of child_ptr first: once it rises from 0 to the size of children, every slice lies inside.
  for (int64_t node = 0; node < tree.n_nodes; ++node)
    if (tree.child_ptr[node + 1] <= tree.child_ptr[node])
      return {TreeFault::no_children, node, std::max<int64_t>(tree.child_ptr[node], 0)};
  std::fill_n(parent, tree.n_nodes, -1);
  std::fill_n(label_parent, tree.n_labels, -1);
  for (int64_t node = 0; node < tree.n_nodes; ++node) {
    for (int64_t position = tree.child_ptr[node]; position < tree.child_ptr[node + 1]; ++position) {
      const int32_t child = tree.children[position];
      if (child >= 0) {
        if (child >= tree.n_nodes) return {TreeFault::node_out_of_range, node, position};
        if (child <= node) return {TreeFault::not_below, node, position};
        if (parent[child] >= 0) return {TreeFault::node_twice, node, position};
        parent[child] = static_cast<int32_t>(node);
      } else {
        const int32_t label = ~child;
        if (label >= tree.n_labels) return {TreeFault::label_out_of_range, node, position};
        if (label_parent[label] >= 0) return {TreeFault::label_twice, node, position};
        label_parent[label] = static_cast<int32_t>(node);
      }
    }
  }
  for (int64_t node = 1; node < tree.n_nodes; ++node)
    if (parent[node] < 0) return {TreeFault::no_parent, node, -1};
  return {};
}

void find_depths(const TreeView& tree, const int32_t* parent, const int32_t* label_parent, int32_t* node_depth,
                 int32_t* label_depth) {
  node_depth[0] = 0;
  for (int64_t node = 1; node < tree.n_nodes; ++node) node_depth[node] = node_depth[parent[node]] + 1;
  for (int64_t label = 0; label < tree.n_labels; ++label)
    label_depth[label] = label_parent[label] < 0 ? -1 : node_depth[label_parent[label]] + 1;
}

template <class Weight>
void sum_below(const TreeView& tree, const int32_t* parent, const Weight* weights, Weight* total) {
  for (int64_t node = 0; node < tree.n_nodes; ++node) {
    Weight sum = 0;
    for (int64_t position = tree.child_ptr[node]; position < tree.child_ptr[node + 1]; ++position)
      if (tree.children[position] < 0) sum += weights[~tree.children[position]];
    total[node] = sum;
  }
  for (int64_t node = tree.n_nodes - 1; node > 0; --node) total[parent[node]] += total[node];
}

template void sum_below(const TreeView&, const int32_t*, const double*, double*);
template void sum_below(const TreeView&, const int32_t*, const int64_t*, int64_t*);

void find_leaf_order(const TreeView& tree, const int64_t* n_below, int64_t* start, int32_t* order) {
  start[0] = 0;
  for (int64_t node = 0; node < tree.n_nodes; ++node) {
    int64_t next = start[node];
    for (int64_t position = tree.child_ptr[node]; position < tree.child_ptr[node + 1]; ++position) {
      const int32_t child = tree.children[position];
      if (child < 0) {
        order[next++] = ~child;
      } else {
        start[child] = next;
        next += n_below[child];
      }
    }
  }
}

int64_t renumber_nodes(const TreeView& tree, const double* mass, int64_t* new_child_ptr, int32_t* new_children,
                       int32_t* old_ids) {
  struct Candidate {
    double mass;
    int64_t position;  // of the child in new_children; also the order of appearance
    int32_t old_id;
  };
  std::vector<Candidate> next_level;
  old_ids[0] = 0;
  new_child_ptr[0] = 0;
  int64_t filled = 0;  // of new_children
  int64_t level_begin = 0, level_end = 1;
  while (level_begin < level_end) {
    next_level.clear();
    for (int64_t node = level_begin; node < level_end; ++node) {
      const int32_t old_id = old_ids[node];
      for (int64_t position = tree.child_ptr[old_id]; position < tree.child_ptr[old_id + 1]; ++position, ++filled) {
        const int32_t child = tree.children[position];
        if (child < 0)
          new_children[filled] = child;
        else
          next_level.push_back({mass[child], filled, child});
      }
      new_child_ptr[node + 1] = filled;
    }
    std::sort(next_level.begin(), next_level.end(), [](const Candidate& a, const Candidate& b) {
      return a.mass != b.mass ? a.mass > b.mass : a.position < b.position;
    });
    level_begin = level_end;
    for (const Candidate& candidate : next_level) {
      new_children[candidate.position] = static_cast<int32_t>(level_end);
      old_ids[level_end++] = candidate.old_id;
    }
  }
  return level_end;
}

}  // namespace labeltrees::tree
