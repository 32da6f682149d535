#include "chunk/unpack.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "chunk/format.hpp"
#include "chunk/part_reader.hpp"

namespace labeltrees::chunk {

namespace {

struct Entry {
  int32_t child;
  float weight;
};

// The weights of one feature in a part: entries from `begin` to the next row's.
struct FeatureRow {
  int32_t feature;
  uint32_t begin, end;
};

struct NodeWeights {
  std::vector<int64_t> counts;  // per child
  std::vector<int32_t> features;
  std::vector<float> values;
};

// Transposes parts: from one row per feature, in the order of ranks, to one per child, in the order of features.
// Sorting the features of a part once is three times as fast as sorting every child's weights.
class PartTransposer {
 public:
  explicit PartTransposer(const std::vector<int32_t>& feature_of_rank) : feature_of_rank_(feature_of_rank) {}

  // Appends the children of one part.
  void add(const uint8_t* part, int64_t n_children, NodeWeights& node) {
    entries_.clear();
    rows_.clear();
    const size_t first_child = node.counts.size();
    node.counts.resize(first_child + static_cast<size_t>(n_children), 0);
    int64_t* counts = node.counts.data() + first_child;
    int32_t last_rank = -1;
    PartReader(part, [&](int32_t rank, int64_t child, float weight) {
      const auto at = static_cast<uint32_t>(entries_.size());
      if (rank != last_rank) rows_.push_back({feature_of_rank_[rank], at, at});
      last_rank = rank;
      rows_.back().end = at + 1;
      entries_.push_back({static_cast<int32_t>(child), weight});
      ++counts[child];
    }).read();
    std::sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.feature < b.feature; });
    next_.resize(static_cast<size_t>(n_children));
    auto end = static_cast<int64_t>(node.features.size());
    for (int64_t child = 0; child < n_children; ++child) next_[child] = std::exchange(end, end + counts[child]);
    node.features.resize(static_cast<size_t>(end));
    node.values.resize(static_cast<size_t>(end));
    for (const FeatureRow& row : rows_) {
      for (uint32_t i = row.begin; i < row.end; ++i) {
        const int64_t to = next_[entries_[i].child]++;
        node.features[to] = row.feature;
        node.values[to] = entries_[i].weight;
      }
    }
  }

 private:
  const std::vector<int32_t>& feature_of_rank_;
  std::vector<Entry> entries_;
  std::vector<FeatureRow> rows_;
  std::vector<int64_t> next_;
};

}  // namespace

UnpackedRows unpack_chunks(const uint8_t* chunks, const int64_t* offsets, const int64_t* child_ptr,
                           const int32_t* feature_rank, int64_t n_features, const int32_t* nodes, int64_t n_nodes,
                           int n_threads, Job& job) {
  std::vector<int32_t> feature_of_rank(static_cast<size_t>(n_features));
  for (int64_t feature = 0; feature < n_features; ++feature)
    feature_of_rank[feature_rank[feature]] = static_cast<int32_t>(feature);
  std::vector<int64_t> first(static_cast<size_t>(n_nodes) + 1, 0);
  for (int64_t i = 0; i < n_nodes; ++i) first[i + 1] = first[i] + child_ptr[nodes[i] + 1] - child_ptr[nodes[i]];
  std::vector<NodeWeights> found(static_cast<size_t>(n_nodes));
  std::vector<PartTransposer> transposers(static_cast<size_t>(std::max(n_threads, 1)), PartTransposer(feature_of_rank));
  UnpackedRows result;
  result.bias.resize(static_cast<size_t>(first.back()));
  parallel_for(n_nodes, n_threads, [&](int64_t i, int thread) {
    job.check();
    const uint8_t* part = chunks + offsets[nodes[i]];
    float* bias = result.bias.data() + first[i];
    for (bool more = true; more;) {
      const auto header = read_at<ChunkHeader>(part);
      transposers[thread].add(part, header.n_children, found[i]);
      std::memcpy(bias, part + kLine + 4 * int64_t{header.n_children}, 4u * header.n_children);
      bias += header.n_children;
      more = header.more;
      part += kLine * int64_t{header.lines};
    }
    job.done += 1;
  });
  result.indptr.reserve(result.bias.size() + 1);
  result.indptr.push_back(0);
  for (const NodeWeights& node : found)
    for (const int64_t count : node.counts) result.indptr.push_back(result.indptr.back() + count);
  result.features.reserve(static_cast<size_t>(result.indptr.back()));
  result.values.reserve(static_cast<size_t>(result.indptr.back()));
  for (NodeWeights& node : found) {
    result.features.insert(result.features.end(), node.features.begin(), node.features.end());
    result.values.insert(result.values.end(), node.values.begin(), node.values.end());
    node = NodeWeights();
  }
  return result;
}

}  // namespace labeltrees::chunk
