#include "chunk/pack.hpp"

#include <cstring>
#include <memory>
#include <numeric>

#include "chunk/part_packer.hpp"

namespace labeltrees::chunk {

namespace {

// Splits the nodes, in layout order, into blocks of about a million weights, packs the blocks in parallel and
// concatenates them. pack_node(node, thread, buffer) appends one node's parts.
template <class PackNode>
PackedChunks pack_blocks(const int64_t* child_ptr, int32_t n_nodes, const double* node_mass, int n_threads, Job& job,
                         const std::vector<int64_t>& node_weight, PackNode&& pack_node) {
  std::vector<int32_t> order(static_cast<size_t>(n_nodes));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return node_mass[a] > node_mass[b]; });
  std::vector<int64_t> first{0};
  int64_t weight = 0;
  for (int32_t i = 0; i < n_nodes; ++i) {
    weight += node_weight[order[i]] + (child_ptr[order[i] + 1] - child_ptr[order[i]]);
    if (weight > 1000000 || i == n_nodes - 1) first.push_back(i + 1), weight = 0;
  }
  int64_t n_blocks = static_cast<int64_t>(first.size()) - 1;
  std::vector<std::vector<uint8_t>> blocks(static_cast<size_t>(n_blocks));
  PackedChunks packed;
  packed.offsets.resize(static_cast<size_t>(n_nodes));
  parallel_for(n_blocks, n_threads, [&](int64_t block, int thread) {
    for (int64_t i = first[block]; i < first[block + 1]; ++i) {
      job.check();
      packed.offsets[order[i]] = static_cast<int64_t>(blocks[block].size());
      pack_node(order[i], thread, blocks[block]);
    }
    blocks[block].shrink_to_fit();
    job.done += first[block + 1] - first[block];
  });
  for (int64_t block = 0; block < n_blocks; ++block) {
    for (int64_t i = first[block]; i < first[block + 1]; ++i) packed.offsets[order[i]] += packed.size;
    packed.size += static_cast<int64_t>(blocks[block].size());
  }
  packed.size += kStoreTail;
  packed.memory = HugePageMemory(packed.size);
  int64_t at = 0;
  for (auto& block : blocks) {  // each block is freed as soon as it is copied, so the peak stays near one store
    std::memcpy(packed.memory.data() + at, block.data(), block.size());
    at += static_cast<int64_t>(block.size());
    std::vector<uint8_t>().swap(block);
  }
  return packed;
}

}  // namespace

PackedChunks pack_chunks(const int64_t* child_ptr, const int32_t* children, int32_t n_nodes, const EdgeWeights& weights,
                         int64_t n_features, const int32_t* feature_rank, const double* node_mass,
                         const PackOptions& options, int n_threads, Job& job) {
  std::vector<int64_t> node_weight(static_cast<size_t>(n_nodes));
  for (int32_t node = 0; node < n_nodes; ++node)
    node_weight[node] = weights.indptr[child_ptr[node + 1]] - weights.indptr[child_ptr[node]];
  std::vector<std::unique_ptr<PartPacker>> packers(static_cast<size_t>(std::max(n_threads, 1)));
  return pack_blocks(child_ptr, n_nodes, node_mass, n_threads, job, node_weight,
                     [&](int32_t node, int thread, std::vector<uint8_t>& buffer) {
                       auto& packer = packers[thread];
                       if (!packer) packer = std::make_unique<PartPacker>(n_features, feature_rank, options);
                       int64_t n = child_ptr[node + 1] - child_ptr[node];
                       for (int64_t first = 0; first < n;) {
                         // Parts of equal size, so that the last one is not much smaller.
                         int64_t left = n - first, n_parts = (left + kMostChildren - 1) / kMostChildren;
                         int64_t count = (left + n_parts - 1) / n_parts;
                         for (bool packed = false; !packed;) {
                           ChunkHeader header{};
                           header.n_children = static_cast<uint16_t>(count);
                           header.more = first + count < n;
                           header.first_child = static_cast<uint32_t>(first);
                           int64_t edge = child_ptr[node] + first;
                           packed = packer->pack(weights, edge, children + edge, header, buffer);
                           if (!packed && count == 1) throw std::invalid_argument("a classifier has too many weights");
                           if (packed)
                             first += count;
                           else
                             count = (count + 1) / 2;
                         }
                       }
                     });
}

PackedChunks pack_matrix_chunks(const int64_t* child_ptr, const int32_t* children, int32_t n_nodes, const float* matrix,
                                const float* bias, int64_t n_features, const double* node_mass, bool half,
                                int n_threads, Job& job) {
  std::vector<int64_t> node_weight(static_cast<size_t>(n_nodes));
  for (int32_t node = 0; node < n_nodes; ++node)
    node_weight[node] = (child_ptr[node + 1] - child_ptr[node]) * n_features;
  int64_t n_padded = round_up(n_features, 16);
  return pack_blocks(child_ptr, n_nodes, node_mass, n_threads, job, node_weight,
                     [&](int32_t node, int, std::vector<uint8_t>& buffer) {
                       int64_t n = child_ptr[node + 1] - child_ptr[node];
                       for (int64_t first = 0; first < n;) {
                         int64_t count = std::min<int64_t>(n - first, kMostChildren);
                         int64_t edge = child_ptr[node] + first;
                         ChunkHeader header{};
                         header.n_children = static_cast<uint16_t>(count);
                         header.kind = half ? ChunkKind::matrix_half : ChunkKind::matrix_float;
                         header.first_child = static_cast<uint32_t>(first);
                         first += count;
                         header.more = first < n;
                         header.n_features = static_cast<uint32_t>(n_features);
                         PartWriter part(buffer, header, children + edge, bias + edge);
                         for (int64_t child = 0; child < count; ++child) {
                           const float* row = matrix + (edge + child) * n_features;
                           for (int64_t feature = 0; feature < n_features; ++feature) {
                             if (!std::isfinite(row[feature])) throw std::invalid_argument("weights must be finite");
                             if (half) {
                               uint16_t bits = to_half(row[feature]);
                               std::memcpy(part.dense() + 2 * (child * n_padded + feature), &bits, 2);
                             } else {
                               std::memcpy(part.dense() + 4 * (child * n_padded + feature), row + feature, 4);
                             }
                           }
                         }
                       }
                     });
}

}  // namespace labeltrees::chunk
