#include "search/links.hpp"

#include "search/store.hpp"

namespace labeltrees {

void TreeLinks::require() {
  std::call_once(once_, [&] {
    std::vector<int32_t> nodes(static_cast<size_t>(arrays_.n_nodes), -1);
    std::vector<int32_t> labels(static_cast<size_t>(arrays_.n_labels), -1);
    for (int32_t node = 0; node < arrays_.n_nodes; ++node) {
      int64_t first = arrays_.child_ptr[node], last = arrays_.child_ptr[node + 1];
      if (first < 0 || last < first || last > arrays_.n_children)
        throw DamagedChunk(source_ + ": the tree's child_ptr is wrong");
      for (int64_t i = first; i < last; ++i) {
        int32_t child = arrays_.children[i];
        if (child >= 0 ? (child <= node || child >= arrays_.n_nodes || nodes[child] >= 0)
                       : (~child >= arrays_.n_labels || labels[~child] >= 0))
          throw DamagedChunk(source_ + ": the tree has a child that is out of range or appears twice");
        (child >= 0 ? nodes[child] : labels[~child]) = node;
      }
    }
    node_parent_ = std::move(nodes);
    label_parent_ = std::move(labels);
  });
}

}  // namespace labeltrees
