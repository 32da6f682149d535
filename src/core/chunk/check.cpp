
#include <cstring>

#include "chunk/format.hpp"

namespace labeltrees::chunk {

namespace {

template <class T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct Part {
  const uint8_t* start;
  ChunkHeader header;
  ChunkSections at;

  // The high half of a word must be the number of bits set before it. A level must have one bit per word of the next
  // level, the last one per row. Then no lookup leaves its level.
  const char* check_index() const {
    if (header.n_levels < 1 || header.n_levels > kMostLevels) return "its index has an impossible number of levels";
    if (header.n_words[0] != top_words(header.n_features, header.n_levels))
      return "its index does not cover the features";
    const uint8_t* word = start + at.index;
    for (uint32_t level = 0; level < kMostLevels; ++level) {
      if (level >= header.n_levels) {
        if (header.n_words[level] != 0) return "its header is damaged";
        continue;
      }
      uint64_t n = 0;
      for (uint32_t i = 0; i < header.n_words[level]; ++i, word += 8) {
        auto value = load<uint64_t>(word);
        if (value >> 32 != n) return "its index is damaged";
        n += static_cast<uint64_t>(__builtin_popcountll(value & 0xFFFFFFFFu));
      }
      if (n != (level + 1 < header.n_levels ? header.n_words[level + 1] : header.n_rows)) return "its index is damaged";
    }
    return nullptr;
  }

  const char* check_pairs() const {
    for (int64_t row = 0; row < header.n_rows; ++row) {
      auto slot = load<uint32_t>(start + at.slots + 4 * row);
      if (auto fault = check_row(slot & 0xFF, slot >> 8)) return fault;
    }
    return nullptr;
  }

  const char* check_row(uint32_t count, int64_t first) const {
    const char *outside = "a row lies outside", *stranger = "a row names a child that is not there";
    const uint8_t* entries = start + at.entries + 2 * first;
    if (count == 1) return (first & 0xFF) < header.n_children ? nullptr : stranger;
    if (count == kFullRow) return first < header.n_dense ? nullptr : outside;
    if (count == kMaskRow) {
      int64_t n_masks = (header.n_children + 15) / 16, units = n_masks;
      if (first + units > header.n_units) return outside;
      for (int64_t i = 0; i < n_masks; ++i) {
        uint32_t mask = load<uint16_t>(entries + 2 * i);
        if (16 * (i + 1) > header.n_children && mask >> (header.n_children - 16 * i)) return stranger;
        units += __builtin_popcount(mask);
      }
      return first + units <= header.n_units ? nullptr : outside;
    }
    if (count > kMostPairs) return "a row's count is wrong";
    if (first + (3 * count + 1) / 2 > header.n_units) return outside;
    for (uint32_t i = 0; i < count; ++i)
      if (entries[2 * count + i] >= header.n_children) return stranger;
    return nullptr;
  }

  template <class Slot>
  const char* check_masks() const {
    if (header.n_children > kMaskChildren || header.n_dense != 0) return "its kind does not fit its children";
    constexpr int half = 4 * sizeof(Slot);
    for (int64_t row = 0; row < header.n_rows; ++row) {
      auto slot = load<Slot>(start + at.slots + static_cast<int64_t>(sizeof(Slot)) * row);
      uint64_t mask = slot & ((Slot{1} << half) - 1);
      if (mask >> header.n_children) return "a row names a child that is not there";
      int64_t count = __builtin_popcountll(mask);
      if (count > 1 && static_cast<int64_t>(slot >> half) + count > header.n_units) return "a row lies outside";
    }
    return nullptr;
  }

  const char* check() const {
    if (header.n_children < 1 || header.n_children > kMostChildren) return "it claims an impossible number of children";
    if (header.more > 1) return "its header is damaged";
    for (uint32_t word : header.reserved)
      if (word != 0) return "its header is damaged";
    if (at.end > kLine * int64_t{header.lines}) return "its sections are longer than the chunk";
    if (is_matrix(header.kind)) {
      bool clean = !(header.n_rows | header.n_units | header.n_dense | header.n_levels | header.n_words[0] |
                     header.n_words[1] | header.n_words[2]);
      return clean ? nullptr : "its header is damaged";
    }
    if (auto fault = check_index()) return fault;
    if (header.kind == ChunkKind::pairs) return check_pairs();
    return header.kind == ChunkKind::masks ? check_masks<uint32_t>() : check_masks<uint64_t>();
  }
};

}  // namespace

const char* check_chunk(const ChunkLimits& limits, int32_t node, int64_t offset) {
  int64_t end = limits.n_bytes - kStoreTail, n_children = 0;
  for (bool more = true; more;) {
    if (offset < 0 || offset % kLine != 0 || offset > end - kLine) return "it lies outside the file";
    Part part;
    part.start = limits.bytes + offset;
    std::memcpy(&part.header, part.start, sizeof part.header);
    if (part.header.lines == 0 || kLine * int64_t{part.header.lines} > end - offset) return "it lies outside the file";
    if (static_cast<uint8_t>(part.header.kind) > static_cast<uint8_t>(ChunkKind::matrix_float))
      return "its kind is unknown";
    if (is_matrix(part.header.kind) != limits.matrices) return "its kind does not fit the model";
    if (part.header.n_features != limits.n_features) return "it is for another number of features";
    part.at = sections_of(part.header);
    if (auto fault = part.check()) return fault;
    if (part.header.first_child != n_children) return "its parts do not follow each other";
    for (int64_t i = 0; i < part.header.n_children; ++i) {
      auto child = load<int32_t>(part.start + kLine + 4 * i);
      if (child >= 0 ? (child <= node || child >= limits.n_nodes) : ~child >= limits.n_labels)
        return "it has a child that is not in the tree";
    }
    n_children += part.header.n_children;
    more = part.header.more;
    offset += kLine * int64_t{part.header.lines};
  }
  return nullptr;
}

}  // namespace labeltrees::chunk
