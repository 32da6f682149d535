#include "chunk/pack.hpp"

#include <cstring>
#include <memory>
#include <numeric>

#include "chunk/format.hpp"
#include "chunk/part_writer.hpp"
#include "chunk/rows.hpp"

namespace labeltrees {

namespace {

class PartPacker {
 public:
  PartPacker(int64_t n_features, const int32_t* feature_rank, const PackOptions& options)
      : n_features_(n_features), options_(options), rows_(n_features, feature_rank) {}

  // Appends one part; false if it has too many weights for its kind's offsets and must be halved.
  bool pack(const EdgeWeights& weights, int64_t first_edge, const int32_t* children, ChunkHeader header,
            std::vector<uint8_t>& buffer) {
    rows_.group(weights, first_edge, header.n_children);
    bool masks = header.n_children <= kMaskChildren;
    n_padded_ = static_cast<int>(round_up(header.n_children, 16));
    int64_t n_units = 0;
    for (int64_t row = 0; row < rows_.n_rows(); ++row) {
      header.n_dense += !masks && is_full(row);
      n_units += masks ? mask_units(row) : pair_units(row);
    }
    if (n_units > (masks ? 0x7FFFFFFF : 0xFFFFFF)) return false;
    bool wide = masks && n_units > 0xFFFF;
    header.kind = !masks ? ChunkKind::pairs : wide ? ChunkKind::masks_wide : ChunkKind::masks;
    header.n_features = static_cast<uint32_t>(n_features_);
    header.n_rows = static_cast<uint32_t>(rows_.n_rows());
    header.n_units = static_cast<uint32_t>(n_units);
    choose_levels(header);
    PartWriter part(buffer, header, children, weights.bias + first_edge);
    write_index(header, part.index());
    if (!masks)
      write_pairs(part);
    else if (wide)
      write_masks<uint64_t>(part);
    else
      write_masks<uint32_t>(part);
    return true;
  }

 private:
  // Rows of a single weight have no entries, nor have full ones. Masks for each 16 children are taken where they are
  // no longer than a list of children: they are quicker to add.
  bool is_full(int64_t row) const { return rows_.count(row) >= options_.dense_fill * n_padded_; }
  bool is_masked(int64_t row) const {
    return 8 * rows_.count(row) >= n_padded_ || rows_.count(row) > static_cast<int>(kMostPairs);
  }
  int64_t mask_units(int64_t row) const { return rows_.count(row) == 1 ? 0 : rows_.count(row); }
  int64_t pair_units(int64_t row) const {
    if (rows_.count(row) == 1 || is_full(row)) return 0;
    return is_masked(row) ? n_padded_ / 16 + rows_.count(row) : (3 * rows_.count(row) + 1) / 2;
  }

  // Groups of 32^level features that have a row.
  int64_t groups(int level) const {
    int64_t n = 0, before = -1;
    for (int64_t row = 0; row < rows_.n_rows(); ++row) {
      int64_t group = rows_.rank(row) >> (5 * level);
      n += group != before;
      before = group;
    }
    return n;
  }

  void choose_levels(ChunkHeader& header) const {
    double least = 0;
    for (uint32_t levels = 1; levels <= kMostLevels; ++levels) {
      uint32_t words[kMostLevels] = {static_cast<uint32_t>(top_words(n_features_, levels)), 0, 0};
      int64_t total = words[0];
      for (uint32_t level = 1; level < levels; ++level)
        total += words[level] = static_cast<uint32_t>(groups(static_cast<int>(levels - level)));
      double cost =
          8.0 * static_cast<double>(total) + options_.level_bytes * (levels - 1) * static_cast<double>(rows_.n_rows());
      if (levels > 1 && cost >= least) continue;
      least = cost;
      header.n_levels = levels;
      std::memcpy(header.n_words, words, sizeof words);
    }
  }

  void write_index(const ChunkHeader& header, uint64_t* words) const {
    for (uint32_t level = 0; level < header.n_levels; ++level) {
      // Bit b of a group of this level stands for the b-th of its 32 groups of the level below, or for a feature.
      int below = static_cast<int>(5 * (header.n_levels - 1 - level));
      int64_t word = -1, group_before = -1, bit_before = -1;
      uint64_t n_before = 0;
      for (int64_t row = 0; row < rows_.n_rows(); ++row) {
        int64_t bit = rows_.rank(row) >> below, group = bit >> 5;
        if (level == 0) {
          for (; word < group; words[word] = n_before << 32) ++word;  // the top has all its words
        } else if (group != group_before) {
          words[++word] = n_before << 32;
        }
        group_before = group;
        if (bit != bit_before) {
          words[word] |= uint64_t{1} << (bit & 31);
          ++n_before;
        }
        bit_before = bit;
      }
      for (++word; word < header.n_words[level]; ++word) words[word] = n_before << 32;
      words += header.n_words[level];
    }
  }

  template <class Slot>
  void write_masks(PartWriter& part) const {
    Slot* slots = part.slots<Slot>();
    uint8_t* entries = part.entries();
    int64_t unit = 0;
    for (int64_t row = 0; row < rows_.n_rows(); ++row) {
      if (rows_.count(row) == 1) {
        slots[row] = static_cast<Slot>(rows_.halves(row)[0]) << (4 * sizeof(Slot)) | rows_.mask(row);
        continue;
      }
      slots[row] = static_cast<Slot>(unit) << (4 * sizeof(Slot)) | rows_.mask(row);
      std::memcpy(entries + 2 * unit, rows_.halves(row), 2 * static_cast<size_t>(rows_.count(row)));
      unit += rows_.count(row);
    }
  }

  void write_pairs(PartWriter& part) const {
    uint32_t* slots = part.slots<uint32_t>();
    uint32_t unit = 0, n_full = 0;
    for (int64_t row = 0; row < rows_.n_rows(); ++row) {
      auto count = static_cast<uint32_t>(rows_.count(row));
      const uint8_t* children = rows_.children(row);
      uint8_t* entries = part.entries() + 2 * int64_t{unit};
      if (count == 1) {
        slots[row] = uint32_t{rows_.halves(row)[0]} << 16 | uint32_t{children[0]} << 8 | 1;
      } else if (is_full(row)) {
        uint8_t* full = part.dense() + 2 * int64_t{n_full} * n_padded_;
        for (uint32_t i = 0; i < count; ++i) std::memcpy(full + 2 * children[i], rows_.halves(row) + i, 2);
        slots[row] = n_full++ << 8 | kFullRow;
      } else if (is_masked(row)) {
        slots[row] = unit << 8 | kMaskRow;
        for (uint32_t i = 0; i < count; ++i)
          entries[children[i] / 8] = static_cast<uint8_t>(entries[children[i] / 8] | 1 << children[i] % 8);
        std::memcpy(entries + n_padded_ / 8, rows_.halves(row), 2 * count);
      } else {
        slots[row] = unit << 8 | count;
        std::memcpy(entries, rows_.halves(row), 2 * count);
        std::memcpy(entries + 2 * count, children, count);
      }
      unit += static_cast<uint32_t>(pair_units(row));
    }
  }

  int64_t n_features_;
  PackOptions options_;
  ChunkRows rows_;
  int n_padded_ = 0;
};

// Splits the nodes, in their order of layout, into blocks of about a million weights, has them packed in parallel and
// puts them together. pack_node(node, thread, buffer) appends one node's parts.
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
                         // Parts of equal size, so that the last is not a small rest.
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

}  // namespace labeltrees
