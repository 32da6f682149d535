#include "search/set_ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "chunk/part_reader.hpp"

namespace labeltrees::search {

namespace {

// The numbers of a part's children that a filter allows.
std::vector<int64_t> allowed_children(const uint8_t* part, const LabelFilter& filter) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < header_of(part).n_children; ++i) {
    const int32_t child = children_of(part)[i];
    if (child < 0 ? filter.allows_label(~child) : filter.allows_node(child)) found.push_back(i);
  }
  return found;
}

// Calls visit(part) for each part of the chunk of a node.
template <class Visit>
void each_part(const SearchStore& store, int32_t node, Visit&& visit) {
  for (const uint8_t* part = store.open(node); part; part = next_part(part)) visit(part);
}

}  // namespace

SetCeilings::SetCeilings(const SearchStore& store, const LabelFilter& filter) {
  int64_t n_wide = 0, n_deep = 0, n_shallow = 0;  // wide nodes, and children that have bounds below all nodes or below
  std::vector<int32_t> deep, shallow;             // the root's wide children
  std::vector<bool> is_below_root(static_cast<size_t>(store.n_nodes()), false);
  each_part(store, 0, [&](const uint8_t* root) {
    for (int i = 0; i < header_of(root).n_children; ++i)
      if (children_of(root)[i] >= 0) is_below_root[children_of(root)[i]] = true;
  });
  for (int32_t node = 1; node < store.n_nodes(); ++node) {
    if (!filter.allows_node(node)) continue;
    int64_t n = 0, n_allowed = 0;
    each_part(store, node, [&](const uint8_t* part) {
      n += header_of(part).n_children;
      n_allowed += static_cast<int64_t>(allowed_children(part, filter).size());
    });
    deep.push_back(node);
    n_deep += n_allowed;
    if (n < kWide) continue;
    ++n_wide;
    if (!is_below_root[node]) continue;
    shallow.push_back(node);
    n_shallow += n_allowed;
  }
  const int64_t most = n_wide / kShare * chunk::kMostChildren;
  if (most == 0) return;
  if (n_deep <= most)
    read(store, filter, deep, 1, true);
  else if (!shallow.empty() && n_shallow <= kMostShared * most)
    read(store, filter, shallow, (n_shallow + most - 1) / most, false);
}

void SetCeilings::read(const SearchStore& store, const LabelFilter& filter, const std::vector<int32_t>& nodes,
                       int64_t group, bool deep) {
  chunk::UnpackedRows bounds;
  bounds.indptr.push_back(0);
  places_.assign(static_cast<size_t>(store.n_nodes()), -1);
  for (size_t place = 0; place < nodes.size(); ++place) places_[nodes[place]] = static_cast<int32_t>(place);
  for (const int32_t node : nodes) {
    first_.push_back(static_cast<int64_t>(bounds.bias.size()));
    each_part(store, node, [&](const uint8_t* part) { read_part(part, filter, group, deep, bounds); });
  }
  first_.push_back(static_cast<int64_t>(bounds.bias.size()));
  below_.resize(static_cast<size_t>(chunk::round_up(first_.back(), 16)), -1);

  std::vector<int64_t> child_ptr;
  for (int64_t bound = 0; bound < first_.back(); bound += chunk::kMostChildren) child_ptr.push_back(bound);
  const auto n_chunks = static_cast<int32_t>(child_ptr.size());
  child_ptr.push_back(first_.back());
  std::vector<int32_t> children(bounds.bias.size()), rank_of(header_of(store.open(0)).n_features);
  std::iota(children.begin(), children.end(), 0);
  std::iota(rank_of.begin(), rank_of.end(), 0);  // the features are ranks already
  const std::vector<double> mass(static_cast<size_t>(n_chunks), 1.0);
  Job job;
  packed_ = chunk::pack_chunks(child_ptr.data(), children.data(), n_chunks,
                               {bounds.indptr.data(), bounds.features.data(), bounds.values.data(), bounds.bias.data()},
                               static_cast<int64_t>(rank_of.size()), rank_of.data(), mass.data(), {}, 1, job);
  for (const int64_t offset : packed_.offsets)
    for (const uint8_t* part = packed_.memory.data() + offset; part; part = next_part(part)) parts_.push_back(part);
}

void SetCeilings::read_part(const uint8_t* part, const LabelFilter& filter, int64_t group, bool deep,
                            chunk::UnpackedRows& bounds) {
  const std::vector<int64_t> allowed = allowed_children(part, filter);
  const int64_t n = header_of(part).n_children;
  const float* bias = reinterpret_cast<const float*>(part + chunk::kLine + 4 * n);
  std::vector<int64_t> group_of(static_cast<size_t>(n), -1);
  for (size_t i = 0; i < allowed.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    group_of[allowed[i]] = number / group;
    if (number % group == 0) {
      const int32_t child = children_of(part)[allowed[i]];
      below_.push_back(deep && child >= 0 ? places_[child] : -1);
      bounds.bias.push_back(bias[allowed[i]]);
    }
    bounds.bias.back() = std::max(bounds.bias.back(), bias[allowed[i]]);
    largest_bias_ = std::max(largest_bias_, std::fabs(bias[allowed[i]]));
  }
  std::vector<std::vector<std::pair<int32_t, float>>> rows;  // of the groups
  rows.resize(allowed.empty() ? 0 : static_cast<size_t>(group_of[allowed.back()] + 1));
  chunk::PartReader(part, [&](int32_t rank, int64_t child, float weight) {
    if (group_of[child] < 0) return;
    largest_weight_ = std::max(largest_weight_, std::fabs(weight));
    if (weight <= 0.0f && group > 1) return;  // a child without this weight may be in the group
    auto& row = rows[group_of[child]];
    if (!row.empty() && row.back().first == rank)
      row.back().second = std::max(row.back().second, weight);
    else
      row.emplace_back(rank, weight);
  }).read();
  for (const auto& row : rows) {
    for (const auto& [rank, weight] : row) {
      bounds.features.push_back(rank);
      bounds.values.push_back(weight);
    }
    bounds.indptr.push_back(static_cast<int64_t>(bounds.features.size()));
  }
}

void SetCeilings::find(const simd::Kernels& kernels, const simd::ScoreLink& link, const SearchQuery& query,
                       float* margins, std::vector<float>& ceilings) const {
  // Sums in another order differ by rounding.
  float sum = 0.0f;
  for (int64_t i = 0; i < query.view().n; ++i) sum += query.view().value[i];
  const float slack =
      1e-4f + 2.4e-7f * static_cast<float>(query.view().n + 8) * (largest_weight_ * sum + largest_bias_);
  const auto n = static_cast<int64_t>(below_.size());
  std::fill(margins + first_.back(), margins + n, 0.0f);
  for (int64_t i = 0; i < n; ++i) margins[i] += slack;
  kernels.path_scores.of[link.loss](margins, n, 0.0f, link.power, margins);
  ceilings.resize(first_.size() - 1);
  for (size_t place = ceilings.size(); place-- > 0;) {  // a child has a larger id than its parent
    float highest = std::numeric_limits<float>::lowest();
    for (int64_t i = first_[place]; i < first_[place + 1]; ++i)
      highest = std::max(highest, below_[i] < 0 ? margins[i] : margins[i] + ceilings[below_[i]]);
    ceilings[place] = highest;
  }
}

int64_t LabelSet::bytes() const {
  auto total = static_cast<int64_t>(8 * labels.size());
  for (const NodeBits* of_nodes : {&inside, &outside})
    for (const auto& words : *of_nodes) total += static_cast<int64_t>(8 * words.size());
  for (size_t tree = 0; tree < inside.size(); ++tree)
    if (const SetCeilings* own = ceilings(tree)) total += own->bytes();
  return total;
}

}  // namespace labeltrees::search
