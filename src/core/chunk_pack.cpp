#include "chunk_pack.hpp"

#include <cstring>
#include <memory>
#include <numeric>

#include "chunk_format.hpp"
#include "chunk_rows.hpp"

namespace labeltrees {

namespace {

// One part of a chunk under way, appended to a buffer.
class PartWriter {
 public:
  PartWriter(std::vector<uint8_t>& buffer, ChunkHeader header, int64_t n_features, const int32_t* children,
             const float* bias)
      : buffer_(buffer), start_(buffer.size()), header_(header), at_(sections_of(header, n_features)) {
    header_.n_features = static_cast<uint32_t>(n_features);
    header_.lines = static_cast<uint32_t>(round_up(at_.end, kLine) / kLine);
    buffer.resize(start_ + static_cast<size_t>(header_.lines) * kLine);
    std::memcpy(at(0), &header_, sizeof header_);
    std::memcpy(at(kLine), children, 4 * static_cast<size_t>(header_.n_children));
    std::memcpy(at(kLine + 4 * header_.n_children), bias, 4 * static_cast<size_t>(header_.n_children));
  }

  template <class T>
  T* index() {
    return reinterpret_cast<T*>(at(at_.index));
  }
  template <class T>
  T* slots() {
    return reinterpret_cast<T*>(at(at_.slots));
  }
  uint8_t* entries() { return at(at_.entries); }
  uint8_t* dense() { return at(at_.dense); }

 private:
  uint8_t* at(int64_t offset) { return buffer_.data() + start_ + offset; }

  std::vector<uint8_t>& buffer_;
  size_t start_;
  ChunkHeader header_;
  ChunkSections at_;
};

// Fewest buckets, from about 7 rows each, such that none has more than kMostInBucket; 0 if that takes too many.
uint32_t choose_buckets(const ChunkRows& rows, const FeatureHash& hash, int64_t most, std::vector<uint8_t>& fill) {
  int64_t n = std::max<int64_t>({1, rows.n_rows() / 7, hash.least_buckets()});
  for (; n <= std::max<int64_t>(most, hash.least_buckets()); n += n / 12 + 1) {
    fill.assign(static_cast<size_t>(n), 0);
    bool fits = true;
    for (int64_t row = 0; row < rows.n_rows() && fits; ++row)
      fits = ++fill[bucket_of(hash.spread(rows.feature(row)), static_cast<uint32_t>(n))] <= kMostInBucket;
    if (fits) return static_cast<uint32_t>(n);
  }
  return 0;
}

class PartPacker {
 public:
  PartPacker(int64_t n_features, const PackOptions& options)
      : n_features_(n_features), options_(options), hash_(n_features), rows_(n_features) {}

  // Appends one part; false if it has too many weights for its kind's offsets and must be halved.
  bool pack(const EdgeWeights& weights, int64_t first_edge, const int32_t* children, ChunkHeader header,
            std::vector<uint8_t>& buffer) {
    rows_.group(weights, first_edge, header.n_children);
    bool masks = header.n_children <= kMaskChildren;
    n_padded_ = static_cast<int>(round_up(header.n_children, 16));
    int64_t n_words = (n_features_ + 31) / 32, n_pairs = 0, n_units = 0;
    n_dense_ = 0;
    for (int64_t row = 0; row < rows_.n_rows(); ++row) {
      if (is_dense(row, masks)) {
        ++n_dense_;
      } else {
        n_pairs += rows_.count(row);
        n_units += masks ? rows_.count(row) : (3 * rows_.count(row) + 1) / 2;
      }
    }
    bool wide = masks && n_units > 0xFFFF;
    header.n_rows = static_cast<uint32_t>(rows_.n_rows());
    header.n_dense = static_cast<uint32_t>(n_dense_);
    // Bytes that buckets would take for index, keys and masks or counts, at about 6 rows a bucket.
    double bucket_bytes = static_cast<double>(rows_.n_rows()) * (masks ? 4.67 : 3.67);
    double bitmap_bytes = 8.0 * static_cast<double>(n_words) + static_cast<double>(rows_.n_rows()) * (wide ? 8 : 4);
    bool bitmap = bitmap_bytes <= bucket_bytes + options_.bitmap_bytes * static_cast<double>(rows_.n_rows());
    if (!bitmap) {
      header.n_index = choose_buckets(rows_, hash_, 2 * n_words, fill_);
      bitmap = header.n_index == 0;
    }
    const float* bias = weights.bias + first_edge;
    if (bitmap) {
      header.n_index = static_cast<uint32_t>(n_words);
      header.kind = !masks ? ChunkKind::bitmap_pairs : wide ? ChunkKind::bitmap_mask_wide : ChunkKind::bitmap_mask;
      if (n_units > (masks ? 0xFFFFFFFF : 0xFFFFFF)) return false;
      header.n_units = static_cast<uint32_t>(n_units);
      PartWriter part(buffer, header, n_features_, children, bias);
      if (!masks)
        write_bitmap_pairs(part);
      else if (wide)
        write_bitmap_masks<uint64_t>(part);
      else
        write_bitmap_masks<uint32_t>(part);
    } else {
      header.kind = masks ? ChunkKind::hash_mask : ChunkKind::hash_pairs;
      order_by_bucket(header.n_index);
      n_units = 0;
      for (uint32_t bucket = 0; bucket < header.n_index; ++bucket) n_units += bucket_units(bucket, masks);
      if (n_units > 0x7FFFFFF) return false;
      header.n_units = static_cast<uint32_t>(n_units);
      PartWriter part(buffer, header, n_features_, children, bias);
      write_buckets(part, header.n_index, masks);
    }
    return true;
  }

 private:
  bool is_dense(int64_t row, bool masks) const {
    return !masks && (rows_.count(row) > 0x7F || rows_.count(row) >= options_.dense_fill * n_padded_);
  }

  void write_bitmap(uint64_t* words) const {
    for (int64_t row = 0; row < rows_.n_rows(); ++row)
      words[rows_.feature(row) >> 5] |= uint64_t{1} << (rows_.feature(row) & 31);
    uint64_t before = 0;
    for (int64_t word = 0; word < (n_features_ + 31) / 32; ++word) {
      uint64_t bits = words[word];
      words[word] |= before << 32;
      before += static_cast<uint64_t>(__builtin_popcountll(bits));
    }
  }

  template <class Slot>
  void write_bitmap_masks(PartWriter& part) const {
    write_bitmap(part.index<uint64_t>());
    Slot* slots = part.slots<Slot>();
    uint8_t* entries = part.entries();
    int64_t unit = 0;
    for (int64_t row = 0; row < rows_.n_rows(); ++row) {
      slots[row] = static_cast<Slot>(unit) << (4 * sizeof(Slot)) | rows_.mask(row);
      std::memcpy(entries + 2 * unit, rows_.halves(row), 2 * static_cast<size_t>(rows_.count(row)));
      unit += rows_.count(row);
    }
  }

  void write_dense(int64_t row, uint8_t* to) const {
    for (int pair = 0; pair < rows_.count(row); ++pair)
      std::memcpy(to + 2 * rows_.children(row)[pair], rows_.halves(row) + pair, 2);
  }

  void write_bitmap_pairs(PartWriter& part) const {
    write_bitmap(part.index<uint64_t>());
    uint32_t* slots = part.slots<uint32_t>();
    uint32_t unit = 0, n_dense = 0;
    for (int64_t row = 0; row < rows_.n_rows(); ++row) {
      if (is_dense(row, false)) {
        write_dense(row, part.dense() + 2 * int64_t{n_dense} * n_padded_);
        slots[row] = n_dense++ << 8 | kDenseFlag;
        continue;
      }
      auto count = static_cast<uint32_t>(rows_.count(row));
      slots[row] = unit << 8 | count;
      std::memcpy(part.entries() + 2 * int64_t{unit}, rows_.halves(row), 2 * count);
      std::memcpy(part.entries() + 2 * int64_t{unit} + 2 * count, rows_.children(row), count);
      unit += (3 * count + 1) / 2;
    }
  }

  // in_bucket_: the rows by bucket; first_: where each bucket starts in it.
  void order_by_bucket(uint32_t n_buckets) {
    first_.assign(n_buckets + 1, 0);
    for (int64_t row = 0; row < rows_.n_rows(); ++row)
      ++first_[bucket_of(hash_.spread(rows_.feature(row)), n_buckets) + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    in_bucket_.resize(static_cast<size_t>(rows_.n_rows()));
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (int64_t row = 0; row < rows_.n_rows(); ++row)
      in_bucket_[next[bucket_of(hash_.spread(rows_.feature(row)), n_buckets)]++] = static_cast<uint32_t>(row);
  }

  // A full row is listed with two pairs' room, which holds its number.
  int64_t pairs_listed(int64_t row, bool masks) const { return is_dense(row, masks) ? 2 : rows_.count(row); }

  int64_t bucket_units(uint32_t bucket, bool masks) const {
    int64_t count = first_[bucket + 1] - first_[bucket], pairs = 0;
    for (uint32_t i = first_[bucket]; i < first_[bucket + 1]; ++i) pairs += pairs_listed(in_bucket_[i], masks);
    return masks ? 2 * count + pairs : count + (count + 1) / 2 + pairs + (pairs + 1) / 2;
  }

  void write_buckets(PartWriter& part, uint32_t n_buckets, bool masks) const {
    uint32_t unit = 0, n_dense = 0;
    for (uint32_t bucket = 0; bucket < n_buckets; ++bucket) {
      uint32_t count = first_[bucket + 1] - first_[bucket], place = 0;
      part.index<uint32_t>()[bucket] = unit << 5 | count;
      uint8_t* keys = part.entries() + 2 * int64_t{unit};
      uint8_t* tells = keys + 2 * count;
      uint8_t* weights = tells + (masks ? 2 * count : round_up(count, 2));
      int64_t pairs = 0;
      for (uint32_t i = first_[bucket]; i < first_[bucket + 1]; ++i) pairs += pairs_listed(in_bucket_[i], masks);
      uint8_t* children = weights + 2 * pairs;
      for (uint32_t i = first_[bucket]; i < first_[bucket + 1]; ++i, ++place) {
        int64_t row = in_bucket_[i];
        auto in_row = static_cast<size_t>(rows_.count(row));
        uint16_t key = hash_.key(hash_.spread(rows_.feature(row)));
        std::memcpy(keys + 2 * place, &key, 2);
        if (masks) {
          auto mask = static_cast<uint16_t>(rows_.mask(row));
          std::memcpy(tells + 2 * place, &mask, 2);
        } else if (is_dense(row, false)) {
          tells[place] = kDenseFlag | 2;
          write_dense(row, part.dense() + 2 * int64_t{n_dense} * n_padded_);
          std::memcpy(weights, &n_dense, 4);
          ++n_dense;
          weights += 4;
          children += 2;
          continue;
        } else {
          tells[place] = static_cast<uint8_t>(in_row);
          std::memcpy(children, rows_.children(row), in_row);
          children += in_row;
        }
        std::memcpy(weights, rows_.halves(row), 2 * in_row);
        weights += 2 * in_row;
      }
      unit += static_cast<uint32_t>(bucket_units(bucket, masks));
    }
  }

  int64_t n_features_;
  PackOptions options_;
  FeatureHash hash_;
  ChunkRows rows_;
  int n_padded_ = 0;
  int64_t n_dense_ = 0;
  std::vector<uint8_t> fill_;
  std::vector<uint32_t> first_, in_bucket_;
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
  packed.memory = ChunkMemory(packed.size);
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
                         int64_t n_features, const double* node_mass, const PackOptions& options, int n_threads,
                         Job& job) {
  std::vector<int64_t> node_weight(static_cast<size_t>(n_nodes));
  for (int32_t node = 0; node < n_nodes; ++node)
    node_weight[node] = weights.indptr[child_ptr[node + 1]] - weights.indptr[child_ptr[node]];
  std::vector<std::unique_ptr<PartPacker>> packers(static_cast<size_t>(std::max(n_threads, 1)));
  return pack_blocks(child_ptr, n_nodes, node_mass, n_threads, job, node_weight,
                     [&](int32_t node, int thread, std::vector<uint8_t>& buffer) {
                       auto& packer = packers[thread];
                       if (!packer) packer = std::make_unique<PartPacker>(n_features, options);
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
                         PartWriter part(buffer, header, n_features, children + edge, bias + edge);
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
