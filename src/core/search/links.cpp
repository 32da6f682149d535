#include "search/links.hpp"

#include "search/store.hpp"
#include "tree/arrays.hpp"

namespace labeltrees {

void TreeLinks::require() {
  std::call_once(once_, [&] {
    std::vector<int32_t> nodes(static_cast<size_t>(tree_.n_nodes)), labels(static_cast<size_t>(tree_.n_labels));
    if (tree_.child_ptr[0] != 0 || tree_.child_ptr[tree_.n_nodes] != tree_.children_size ||
        find_parents(tree_, nodes.data(), labels.data()).fault != TreeFault::none)
      throw DamagedChunk(source_ + ": the arrays child_ptr and children are not a tree");
    node_parent_ = std::move(nodes);
    label_parent_ = std::move(labels);
  });
}

}  // namespace labeltrees
