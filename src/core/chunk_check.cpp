#include "chunk_check.hpp"

#include <cstring>

#include "chunk_format.hpp"

namespace labeltrees {

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
  int64_t n_features;

  const char* check_bitmap() const {
    if (header.n_index != (n_features + 31) / 32) return "its bitmap does not cover the features";
    uint64_t rows = 0;
    for (uint32_t i = 0; i < header.n_index; ++i) {
      auto word = load<uint64_t>(start + at.index + 8 * int64_t{i});
      if (word >> 32 != rows) return "its bitmap's ranks are wrong";
      rows += static_cast<uint64_t>(__builtin_popcountll(word & 0xFFFFFFFFu));
    }
    return rows == header.n_rows ? nullptr : "its bitmap does not count its rows";
  }

  const char* check_pairs(const uint8_t* children, int64_t count) const {
    for (int64_t pair = 0; pair < count; ++pair)
      if (children[pair] >= header.n_children) return "a row names a child that is not there";
    return nullptr;
  }

  const char* check_slots() const {
    for (int64_t row = 0; row < header.n_rows; ++row) {
      const uint8_t* slot = start + at.slots + slot_bytes(header.kind) * row;
      if (header.kind == ChunkKind::bitmap_pairs) {
        auto value = load<uint32_t>(slot);
        int64_t count = value & 0x7F, first = value >> 8;
        if (value & kDenseFlag) {
          if (first >= header.n_dense || count != 0) return "a row lies outside";
          continue;
        }
        if (first + (3 * count + 1) / 2 > header.n_units) return "a row lies outside";
        if (auto fault = check_pairs(start + at.entries + 2 * (first + count), count)) return fault;
        continue;
      }
      bool wide = header.kind == ChunkKind::bitmap_mask_wide;
      uint64_t value = wide ? load<uint64_t>(slot) : load<uint32_t>(slot);
      uint64_t mask = value & (wide ? 0xFFFFFFFFu : 0xFFFFu);
      if (mask >> header.n_children) return "a row names a child that is not there";
      if (static_cast<int64_t>(value >> (wide ? 32 : 16)) + __builtin_popcountll(mask) > header.n_units)
        return "a row lies outside";
    }
    return nullptr;
  }

  const char* check_buckets() const {
    if (header.n_index < FeatureHash(n_features).least_buckets()) return "it has too few buckets";
    for (int64_t bucket = 0; bucket < header.n_index; ++bucket) {
      auto value = load<uint32_t>(start + at.index + 4 * bucket);
      int64_t count = value & 31, first = value >> 5;
      if (count > kMostInBucket) return "a bucket has too many rows";
      bool masks = header.kind == ChunkKind::hash_mask;
      int64_t tell_units = masks ? count : (count + 1) / 2, pairs = 0;
      if (first + count + tell_units > header.n_units) return "a bucket lies outside";
      const uint8_t* tells = start + at.entries + 2 * (first + count);
      for (int64_t row = 0; row < count; ++row) {
        if (masks) {
          auto mask = load<uint16_t>(tells + 2 * row);
          if (mask >> header.n_children) return "a row names a child that is not there";
          pairs += __builtin_popcount(mask);
        } else {
          if ((tells[row] & kDenseFlag) && tells[row] != (kDenseFlag | 2)) return "a row's count is wrong";
          pairs += tells[row] & 0x7F;
        }
      }
      if (first + count + tell_units + pairs + (masks ? 0 : (pairs + 1) / 2) > header.n_units)
        return "a bucket lies outside";
      if (masks) continue;
      const uint8_t* weights = tells + 2 * tell_units;
      if (auto fault = check_pairs(weights + 2 * pairs, pairs)) return fault;
      for (int64_t row = 0; row < count; ++row) {
        if ((tells[row] & kDenseFlag) && load<uint32_t>(weights) >= header.n_dense) return "a row lies outside";
        weights += 2 * (tells[row] & 0x7F);
      }
    }
    return nullptr;
  }

  const char* check() const {
    if (header.n_children < 1 || header.n_children > kMostChildren) return "it claims an impossible number of children";
    if (header.more > 1) return "its header is damaged";
    for (uint32_t word : header.reserved)
      if (word != 0) return "its header is damaged";
    if (at.end > kLine * int64_t{header.lines}) return "its sections are longer than the chunk";
    bool masks = header.kind == ChunkKind::bitmap_mask || header.kind == ChunkKind::bitmap_mask_wide ||
                 header.kind == ChunkKind::hash_mask;
    if (masks && (header.n_children > kMaskChildren || header.n_dense != 0))
      return "its kind does not fit its children";
    if (is_matrix(header.kind)) {
      return header.n_rows | header.n_index | header.n_units | header.n_dense ? "its header is damaged" : nullptr;
    }
    if (is_hash(header.kind)) return check_buckets();
    if (auto fault = check_bitmap()) return fault;
    return check_slots();
  }
};

}  // namespace

const char* check_chunk(const ChunkLimits& limits, int32_t node, int64_t offset) {
  int64_t end = limits.n_bytes - kStoreTail, n_children = 0;
  for (bool more = true; more;) {
    if (offset < 0 || offset % kLine != 0 || offset > end - kLine) return "it lies outside the file";
    Part part;
    part.start = limits.bytes + offset;
    part.n_features = limits.n_features;
    std::memcpy(&part.header, part.start, sizeof part.header);
    if (part.header.lines == 0 || kLine * int64_t{part.header.lines} > end - offset) return "it lies outside the file";
    if (static_cast<uint8_t>(part.header.kind) > static_cast<uint8_t>(ChunkKind::matrix_float))
      return "its kind is unknown";
    if (is_matrix(part.header.kind) != limits.matrices) return "its kind does not fit the model";
    if (part.header.n_features != limits.n_features) return "it is for another number of features";
    part.at = sections_of(part.header, limits.n_features);
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

}  // namespace labeltrees
