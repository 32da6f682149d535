// How the classifiers of one node lie in memory and on disk. docs/format.md says the same in prose.
//
// A node's chunk is one run of parts, each a multiple of 64 bytes, all but the last with `more` set. A part holds at
// most 256 children, so that a child is one byte. Its sections, in order:
//   header    64 bytes, ChunkHeader
//   children  int32[n_children]   as in LabelTree: a node id, or ~label
//   bias      float32[n_children]
//   index     at the next multiple of 64 bytes, from features to rows
//   entries   the rows' weights, in units of 2 bytes
//   dense     at the next multiple of 64 bytes, full rows
// Only counts are stored, no offsets, so there is little to check and nothing to contradict.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltrees {

constexpr int kMostChildren = 256;  // of one part
constexpr int kMaskChildren = 16;   // the most children whose presence in a row is told by a 16-bit mask
constexpr int kMostInBucket = 16;   // keys compared by one 256-bit instruction
constexpr int64_t kLine = 64;
constexpr int64_t kStoreTail = 64;  // zero bytes after the last part: vector loads may run past a row, not past those

enum class ChunkKind : uint8_t {
  // n_index words of 64 bits, one for 32 features: which of them have a row (low half) and how many rows came before
  // (high half). Then a slot a row. For chunks that hold a good part of the features.
  bitmap_mask = 0,       // slot uint32: mask of the children | first unit << 16
  bitmap_mask_wide = 1,  // slot uint64: mask | first unit << 32, when 16 bits do not reach
  bitmap_pairs = 2,      // slot uint32: count | first unit << 8; count 0x80: a full row, and its number instead
  // n_index buckets of features, uint32: rows in it | first unit << 5. In the entries a bucket has its rows' 16-bit
  // keys, then masks or counts, then weights. For chunks that hold few of the features.
  hash_mask = 3,
  hash_pairs = 4,
  // no index: a row of n_features weights a child, for data without zeros
  matrix_half = 5,
  matrix_float = 6,
};

struct ChunkHeader {
  uint32_t lines;       // of 64 bytes, this header included
  uint16_t n_children;  // 1 to 256
  ChunkKind kind;
  uint8_t more;          // 1 if another part of the same node follows
  uint32_t n_rows;       // features that have a row
  uint32_t n_index;      // words or buckets
  uint32_t n_units;      // 2-byte units of the entries
  uint32_t n_dense;      // full rows, each padded to a multiple of 16 halves
  uint32_t first_child;  // of this part among the node's children
  uint32_t n_features;   // of the whole model
  uint32_t reserved[8];  // zero
};
static_assert(sizeof(ChunkHeader) == kLine);

constexpr uint32_t kDenseFlag = 0x80;  // in a count: a full row

// static: the vector kernels include this file, and their copies must not serve other callers (simd/kernels.inl).
static constexpr int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

static inline bool is_bitmap(ChunkKind kind) { return kind <= ChunkKind::bitmap_pairs; }
static inline bool is_hash(ChunkKind kind) { return kind == ChunkKind::hash_mask || kind == ChunkKind::hash_pairs; }
static inline bool is_matrix(ChunkKind kind) { return kind >= ChunkKind::matrix_half; }

static inline int64_t slot_bytes(ChunkKind kind) { return kind == ChunkKind::bitmap_mask_wide ? 8 : 4; }

// Byte offsets of a part's sections from its start.
struct ChunkSections {
  int64_t index, slots, entries, dense, end;
};

static inline ChunkSections sections_of(const ChunkHeader& header, int64_t n_features) {
  ChunkSections at;
  at.index = round_up(kLine + 8 * int64_t{header.n_children}, kLine);
  if (is_matrix(header.kind)) {
    int64_t width = header.kind == ChunkKind::matrix_half ? 2 : 4;
    at.slots = at.entries = at.dense = at.index;
    at.end = at.dense + header.n_children * round_up(n_features, 16) * width;
    return at;
  }
  if (is_bitmap(header.kind)) {
    at.slots = at.index + 8 * int64_t{header.n_index};
    at.entries = at.slots + slot_bytes(header.kind) * header.n_rows;
  } else {
    at.slots = at.entries = at.index + 4 * int64_t{header.n_index};
  }
  at.dense = at.entries + 2 * int64_t{header.n_units};
  if (header.n_dense > 0) at.dense = round_up(at.dense, kLine);
  at.end = at.dense + header.n_dense * 2 * round_up(header.n_children, 16);
  return at;
}

// Features are spread over buckets by a product with an odd number modulo 2^bits, 2^bits being the first power of two
// not below n_features: a one-to-one map, so that a bucket's number and 16 low bits name a feature exactly as long as
// a bucket spans at most 2^16 products. least_buckets() sees to that.
struct FeatureHash {
  uint32_t shift;  // 32 - bits

  explicit FeatureHash(int64_t n_features) {
    uint32_t bits = 1;
    while ((int64_t{1} << bits) < n_features) ++bits;
    shift = 32 - bits;
  }
  uint32_t spread(uint32_t feature) const { return (feature * 0x9E3779B1u) << shift; }
  uint16_t key(uint32_t spread) const { return static_cast<uint16_t>(spread >> shift); }
  uint32_t least_buckets() const { return shift >= 16 ? 1u : 1u << (16 - shift); }
};
static inline uint32_t bucket_of(uint32_t spread, uint32_t n_buckets) {
  return static_cast<uint32_t>((uint64_t{spread} * n_buckets) >> 32);
}

}  // namespace labeltrees
