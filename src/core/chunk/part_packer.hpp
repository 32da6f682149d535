// Packs the classifiers of up to 256 children into one part of a chunk.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "chunk/format.hpp"
#include "chunk/pack.hpp"
#include "common/half.hpp"

namespace labeltrees::chunk {

// Transposes the weights of some children: from one row per child to one row per feature.
//
// One per thread: `place_` has an entry per feature, all zero between calls.
class ChunkRows {
 public:
  ChunkRows(int64_t n_features, const int32_t* feature_rank)
      : place_(static_cast<size_t>(n_features), 0), feature_rank_(feature_rank) {}

  // Rows of edges [first_edge, first_edge + n_children), sorted by the rank of their feature, each with its children
  // sorted. Weights that are zero in half precision are left out.
  void group(const EdgeWeights& weights, int64_t first_edge, int n_children) {
    ranks_.clear();
    for (int64_t at = weights.indptr[first_edge]; at < weights.indptr[first_edge + n_children]; ++at) {
      if (!std::isfinite(weights.values[at])) throw std::invalid_argument("weights must be finite");
      if ((to_half(weights.values[at]) & 0x7FFF) == 0) continue;
      int32_t rank = feature_rank_[weights.features[at]];
      if (place_[rank]++ == 0) ranks_.push_back(static_cast<uint32_t>(rank));
    }
    std::sort(ranks_.begin(), ranks_.end());
    starts_.resize(ranks_.size() + 1);
    int64_t total = 0;
    for (size_t row = 0; row < ranks_.size(); ++row) {
      starts_[row] = total;
      total += place_[ranks_[row]];
      place_[ranks_[row]] = static_cast<uint32_t>(row);
    }
    starts_[ranks_.size()] = total;
    children_.resize(static_cast<size_t>(total));
    halves_.resize(static_cast<size_t>(total));
    next_.assign(starts_.begin(), starts_.end());
    for (int child = 0; child < n_children; ++child) {
      for (int64_t at = weights.indptr[first_edge + child]; at < weights.indptr[first_edge + child + 1]; ++at) {
        uint16_t half = to_half(weights.values[at]);
        if ((half & 0x7FFF) == 0) continue;
        uint32_t row = place_[feature_rank_[weights.features[at]]];
        int64_t to = next_[row]++;
        if (to > starts_[row] && children_[to - 1] == child)
          throw std::invalid_argument("a classifier has the same feature twice");
        children_[to] = static_cast<uint8_t>(child);
        halves_[to] = half;
      }
    }
    for (uint32_t rank : ranks_) place_[rank] = 0;
  }

  int64_t n_rows() const { return static_cast<int64_t>(ranks_.size()); }
  uint32_t rank(int64_t row) const { return ranks_[row]; }
  int count(int64_t row) const { return static_cast<int>(starts_[row + 1] - starts_[row]); }
  const uint8_t* children(int64_t row) const { return children_.data() + starts_[row]; }
  const uint16_t* halves(int64_t row) const { return halves_.data() + starts_[row]; }
  uint32_t mask(int64_t row) const {
    uint32_t bits = 0;
    for (int pair = 0; pair < count(row); ++pair) bits |= 1u << children(row)[pair];
    return bits;
  }

 private:
  std::vector<uint32_t> place_, ranks_;
  const int32_t* feature_rank_;
  std::vector<int64_t> starts_, next_;
  std::vector<uint8_t> children_;
  std::vector<uint16_t> halves_;
};

// Appends one part of a chunk to a buffer.
class PartWriter {
 public:
  PartWriter(std::vector<uint8_t>& buffer, ChunkHeader header, const int32_t* children, const float* bias)
      : buffer_(buffer), start_(buffer.size()), at_(sections_of(header)) {
    header.lines = static_cast<uint32_t>(round_up(at_.end, kLine) / kLine);
    buffer.resize(start_ + static_cast<size_t>(header.lines) * kLine);
    std::memcpy(at(0), &header, sizeof header);
    std::memcpy(at(kLine), children, 4 * static_cast<size_t>(header.n_children));
    std::memcpy(at(kLine + 4 * header.n_children), bias, 4 * static_cast<size_t>(header.n_children));
  }

  uint64_t* index() { return reinterpret_cast<uint64_t*>(at(at_.index)); }
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
  ChunkSections at_;
};

class PartPacker {
 public:
  PartPacker(int64_t n_features, const int32_t* feature_rank, const PackOptions& options)
      : n_features_(n_features), options_(options), rows_(n_features, feature_rank) {}

  // Appends one part. Returns false if it has too many weights for the offsets of its kind; the caller then halves it.
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
  // Rows with a single weight and full rows have no entries. Other rows have a mask for each 16 children if that is not
  // longer than a list of children, because masks are faster to add.
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
      // Bit b of a group of this level is for the b-th of its 32 groups of the level below, or for a feature.
      int below = static_cast<int>(5 * (header.n_levels - 1 - level));
      int64_t word = -1, group_before = -1, bit_before = -1;
      uint64_t n_before = 0;
      for (int64_t row = 0; row < rows_.n_rows(); ++row) {
        int64_t bit = rows_.rank(row) >> below, group = bit >> 5;
        if (level == 0) {
          for (; word < group; words[word] = n_before << 32) ++word;  // the top level also stores empty words
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

}  // namespace labeltrees::chunk
