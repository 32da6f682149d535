// Reads the weights of one part of a chunk.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "chunk/format.hpp"
#include "common/half.hpp"

namespace labeltrees::chunk {

template <class T>
T read_at(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Calls visit(rank, child, weight) for every weight of one part that is not zero, row by row in the order of their
// ranks.
template <class Visit>
class PartReader {
 public:
  PartReader(const uint8_t* part, Visit visit)
      : part_(part), header_(read_at<ChunkHeader>(part)), at_(sections_of(header_)), visit_(std::move(visit)) {}

  void read() {
    const std::vector<int32_t> ranks = read_index();
    for (size_t row = 0; row < ranks.size(); ++row) {
      rank_ = ranks[row];
      if (header_.kind == ChunkKind::pairs)
        read_pairs(read_at<uint32_t>(part_ + at_.slots + 4 * row));
      else if (header_.kind == ChunkKind::masks)
        read_masks(read_at<uint32_t>(part_ + at_.slots + 4 * row), 16);
      else
        read_masks(read_at<uint64_t>(part_ + at_.slots + 8 * row), 32);
    }
  }

 private:
  // The rank of each row: the bits of the index, level by level.
  std::vector<int32_t> read_index() const {
    std::vector<int32_t> groups(header_.n_words[0]), next;
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int32_t>(i);
    const uint8_t* words = part_ + at_.index;
    for (uint32_t level = 0; level < header_.n_levels; ++level) {
      next.clear();
      for (size_t i = 0; i < groups.size(); ++i) {
        auto bits = static_cast<uint32_t>(read_at<uint64_t>(words + 8 * i));
        for (; bits != 0; bits &= bits - 1) next.push_back(32 * groups[i] + std::countr_zero(bits));
      }
      words += 8 * int64_t{header_.n_words[level]};
      groups.swap(next);
    }
    return groups;
  }

  uint16_t unit(int64_t number) const { return read_at<uint16_t>(part_ + at_.entries + 2 * number); }
  void add(int64_t child, uint16_t half) {
    if ((half & 0x7FFF) != 0) visit_(rank_, child, from_half(half));
  }
  // Adds the weights of the children in a mask, whose lowest bit is for `child`. The weights start at unit `at`.
  // Returns the unit after them.
  int64_t add_masked(uint32_t mask, int64_t child, int64_t at) {
    for (; mask != 0; mask &= mask - 1) add(child + std::countr_zero(mask), unit(at++));
    return at;
  }
  void read_masks(uint64_t slot, int shift) {
    const auto mask = static_cast<uint32_t>(slot & 0xFFFF);
    const auto first = static_cast<int64_t>(slot >> shift);
    if (std::popcount(mask) == 1)
      add(std::countr_zero(mask), static_cast<uint16_t>(first));
    else
      add_masked(mask, 0, first);
  }
  void read_pairs(uint32_t slot) {
    const uint32_t count = slot & 0xFF;
    const int64_t first = slot >> 8, n_padded = round_up(header_.n_children, 16);
    if (count == 1) {
      add(first & 0xFF, static_cast<uint16_t>(slot >> 16));
    } else if (count == kFullRow) {
      for (int64_t child = 0; child < header_.n_children; ++child)
        add(child, read_at<uint16_t>(part_ + at_.dense + 2 * (first * n_padded + child)));
    } else if (count == kMaskRow) {
      int64_t at = first + n_padded / 16;
      for (int64_t i = 0; i < n_padded / 16; ++i) at = add_masked(unit(first + i), 16 * i, at);
    } else {
      const uint8_t* children = part_ + at_.entries + 2 * (first + count);
      for (uint32_t i = 0; i < count; ++i) add(children[i], unit(first + i));
    }
  }

  const uint8_t* part_;
  const ChunkHeader header_;
  const ChunkSections at_;
  Visit visit_;
  int32_t rank_ = 0;
};

}  // namespace labeltrees::chunk
