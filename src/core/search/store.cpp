#include "search/store.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "search/label_rules.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::search {

SearchStore::SearchStore(const chunk::ChunkLimits& limits, const int64_t* offsets, const int32_t* feature_rank,
                         const simd::ScoreLink& link, bool checked, std::string source)
    : limits_(limits), offsets_(offsets), feature_rank_(feature_rank), link_(link), source_(std::move(source)) {
  if (!checked) seen_ = std::make_unique<std::atomic<uint64_t>[]>(static_cast<size_t>(limits.n_nodes) / 64 + 1);
}

void SearchStore::check(int32_t node) const {
  if (const char* fault = chunk::check_chunk(limits_, node, offsets_[node]))
    throw DamagedChunk(source_ + ": chunk of node " + std::to_string(node) + ": " + fault);
  seen_[node >> 6].fetch_or(uint64_t{1} << (node & 63), std::memory_order_release);
}

void SearchStore::check_all() const {
  if (seen_)
    for (int32_t node = 0; node < limits_.n_nodes; ++node) check(node);
}

void TreeLinks::require() {
  std::call_once(once_, [&] {
    std::vector<int32_t> nodes(static_cast<size_t>(tree_.n_nodes)), labels(static_cast<size_t>(tree_.n_labels));
    if (tree_.child_ptr[0] != 0 || tree_.child_ptr[tree_.n_nodes] != tree_.children_size ||
        tree::find_parents(tree_, nodes.data(), labels.data()).fault != tree::TreeFault::none)
      throw DamagedChunk(source_ + ": the arrays child_ptr and children are not a tree");
    std::vector<int64_t> below(nodes.size(), 0);
    for (int32_t parent : labels)
      if (parent >= 0) ++below[parent];
    for (size_t node = nodes.size(); node-- > 1;) below[nodes[node]] += below[node];
    information_.resize(nodes.size());
    const double all = std::log(std::max<double>(static_cast<double>(below[0]), 2.0));
    for (size_t node = 0; node < nodes.size(); ++node)
      information_[node] =
          static_cast<float>(1.0 - std::log(std::max<double>(static_cast<double>(below[node]), 1.0)) / all);
    node_parent_ = std::move(nodes);
    label_parent_ = std::move(labels);
  });
}

}  // namespace labeltrees::search
