#include "chunk/unpack.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "chunk/format.hpp"
#include "common/half.hpp"

namespace labeltrees::chunk {

namespace {

template <class T>
T read_at(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

using Row = std::vector<std::pair<int32_t, float>>;  // feature and weight

// Adds the weights of one part to the rows of its children.
class PartReader {
 public:
  PartReader(const uint8_t* part, const std::vector<int32_t>& feature_of_rank, Row* rows)
      : part_(part),
        header_(read_at<ChunkHeader>(part)),
        at_(sections_of(header_)),
        feature_of_rank_(feature_of_rank),
        rows_(rows) {}

  void read() {
    const std::vector<int32_t> ranks = read_index();
    for (size_t row = 0; row < ranks.size(); ++row) {
      feature_ = feature_of_rank_[ranks[row]];
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
    if ((half & 0x7FFF) != 0) rows_[child].emplace_back(feature_, from_half(half));
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
  const std::vector<int32_t>& feature_of_rank_;
  Row* rows_;
  int32_t feature_ = 0;
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
  std::vector<Row> rows(static_cast<size_t>(first.back()));
  UnpackedRows result;
  result.bias.resize(rows.size());
  parallel_for(n_nodes, n_threads, [&](int64_t i, int) {
    job.check();
    const uint8_t* part = chunks + offsets[nodes[i]];
    int64_t row = first[i];
    for (bool more = true; more;) {
      const auto header = read_at<ChunkHeader>(part);
      PartReader(part, feature_of_rank, rows.data() + row).read();
      std::memcpy(result.bias.data() + row, part + kLine + 4 * int64_t{header.n_children}, 4u * header.n_children);
      for (int64_t child = 0; child < header.n_children; ++child)
        std::sort(rows[row + child].begin(), rows[row + child].end());
      row += header.n_children;
      more = header.more;
      part += kLine * int64_t{header.lines};
    }
    job.done += 1;
  });
  result.indptr.reserve(rows.size() + 1);
  result.indptr.push_back(0);
  for (const Row& row : rows) result.indptr.push_back(result.indptr.back() + static_cast<int64_t>(row.size()));
  result.features.reserve(static_cast<size_t>(result.indptr.back()));
  result.values.reserve(static_cast<size_t>(result.indptr.back()));
  for (Row& row : rows) {
    for (const auto& [feature, value] : row) {
      result.features.push_back(feature);
      result.values.push_back(value);
    }
    Row().swap(row);
  }
  return result;
}

}  // namespace labeltrees::chunk
