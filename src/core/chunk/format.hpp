// The layout of the classifiers of one node, in memory and on disk. docs/format.md describes it in prose.
//
// The chunk of a node is a sequence of parts. The size of a part is a multiple of 64 bytes, and `more` is set in all
// parts but the last. A part has at most 256 children, so that the number of a child fits in one byte. Its sections:
//   header    64 bytes, ChunkHeader
//   children  int32[n_children]   as in LabelTree: a node id, or ~label
//   bias      float32[n_children]
//   index     at the next multiple of 64 bytes: maps features to rows
//   slots     the position of each row's weights
//   entries   the weights of the rows, in units of 2 bytes
//   dense     at the next multiple of 64 bytes, full rows
// Counts are stored, but no offsets, so that sections cannot contradict each other.
//
// Features are numbered by rank: those with the most weights come first. Most words of a text are frequent, so a query
// reads memory that is close together, at the front of each section. This halves the cache misses of a search (354
// instead of 654 in the first level and 111 instead of 232 in the second, for a query of debian-depends in a simulated
// cache of 48 KiB and 2 MiB).
//
// The index is a bitmap over the ranks with one to three levels. The low half of a 64-bit word has presence bits for 32
// features; the high half is the number of bits set in the words before. The bit of a feature says whether it has a
// row, and the number of bits before it is the number of the row. With one level, the words cover all features. With
// two levels, words without any bit are left out, and each word of the upper level has presence bits for 32 words. With
// three levels, the same is done once more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltrees::chunk {

constexpr int kMostChildren = 256;  // of one part
constexpr int kMaskChildren = 16;   // maximum number of children for rows with a 16-bit mask of the children
constexpr int kMostLevels = 3;
constexpr int64_t kLine = 64;
constexpr int64_t kStoreTail = 64;  // zero bytes after the last part: vector loads may read past a row

enum class ChunkKind : uint8_t {
  masks = 0,         // slot uint32: mask of the children | first unit << 16; at most 16 children
  masks_wide = 1,    // slot uint64: mask | first unit << 32, if 16 bits are not enough
  pairs = 2,         // slot uint32: count | first unit << 8: weights, then children
  matrix_half = 3,   // no index: a row of n_features weights per child, for data without zeros
  matrix_float = 4,  // the same in single precision
};

struct ChunkHeader {
  uint32_t lines;       // of 64 bytes, this header included
  uint16_t n_children;  // 1 to 256
  ChunkKind kind;
  uint8_t more;          // 1 if another part of the same node follows
  uint32_t first_child;  // of this part among the node's children
  uint32_t n_features;   // of the whole model
  uint32_t n_rows;       // features that have a row
  uint32_t n_units;      // 2-byte units of the entries
  uint32_t n_dense;      // full rows, each padded to a multiple of 16 halves
  uint32_t n_levels;     // of the index
  uint32_t n_words[3];   // of each level, from the top
  uint32_t reserved[5];  // zero
};
static_assert(sizeof(ChunkHeader) == kLine);

// Half of all rows have a single weight. It is stored in the slot instead of an entry: for masks (one bit set in the
// mask) in place of the first unit, for pairs (count 1, child << 8) in the upper 16 bits.
// Other counts of pairs:
constexpr uint32_t kMostPairs = 0x7F;
constexpr uint32_t kFullRow = 0x80;  // a row of `dense`; its number replaces the first unit
constexpr uint32_t kMaskRow = 0x81;  // entries: one mask per 16 children, then the weights

// static: the vector kernels include this file, and their copies must not serve other callers (simd/primitives.inl).
static constexpr int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

static inline bool is_matrix(ChunkKind kind) { return kind >= ChunkKind::matrix_half; }
static inline int64_t slot_bytes(ChunkKind kind) { return kind == ChunkKind::masks_wide ? 8 : 4; }

// Words of the top level that cover all features.
static inline int64_t top_words(int64_t n_features, uint32_t n_levels) {
  int64_t covered = int64_t{1} << (5 * n_levels);
  return (n_features + covered - 1) / covered;
}

// Byte offsets of a part's sections from its start.
struct ChunkSections {
  int64_t index, slots, entries, dense, end;
};

static inline ChunkSections sections_of(const ChunkHeader& header) {
  ChunkSections at;
  at.index = round_up(kLine + 8 * int64_t{header.n_children}, kLine);
  if (is_matrix(header.kind)) {
    int64_t width = header.kind == ChunkKind::matrix_half ? 2 : 4;
    at.slots = at.entries = at.dense = at.index;
    at.end = at.dense + header.n_children * round_up(header.n_features, 16) * width;
    return at;
  }
  at.slots = at.index + 8 * (int64_t{header.n_words[0]} + header.n_words[1] + header.n_words[2]);
  at.entries = at.slots + slot_bytes(header.kind) * header.n_rows;
  at.dense = at.entries + 2 * int64_t{header.n_units};
  if (header.n_dense > 0) at.dense = round_up(at.dense, kLine);
  at.end = at.dense + header.n_dense * 2 * round_up(header.n_children, 16);
  return at;
}

// The limits that a chunk is checked against. Chunks from a file are checked before their first use, so that no search
// reads outside their bytes.
struct ChunkLimits {
  const uint8_t* bytes;
  int64_t n_bytes;  // the tail included
  int64_t n_features;
  int32_t n_nodes;
  int32_t n_labels;
  bool matrices;  // every chunk is a matrix, or none is
};

// Returns null if all parts of the node's chunk at `offset` are sound, else a message that says what is wrong.
const char* check_chunk(const ChunkLimits& limits, int32_t node, int64_t offset);

}  // namespace labeltrees::chunk
