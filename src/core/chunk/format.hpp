// How the classifiers of one node lie in memory and on disk. docs/format.md says the same in prose.
//
// A node's chunk is one run of parts, each a multiple of 64 bytes, all but the last with `more` set. A part holds at
// most 256 children, so that a child is one byte. Its sections, in order:
//   header    64 bytes, ChunkHeader
//   children  int32[n_children]   as in LabelTree: a node id, or ~label
//   bias      float32[n_children]
//   index     at the next multiple of 64 bytes, from features to rows
//   slots     where each row's weights lie
//   entries   the rows' weights, in units of 2 bytes
//   dense     at the next multiple of 64 bytes, full rows
// Only counts are stored, no offsets, so there is little to check and nothing to contradict.
//
// Features go by their rank: the model's features in falling order of their number of weights. A text's words are
// mostly frequent ones, so what a query reads in a chunk lies close together at the front of each section; that halves
// the cache misses of a search (354 in place of 654 of the first level, 111 in place of 232 of the second, for a query
// of the debian-depends set in a simulated cache of 48 KiB and 2 MiB).
//
// The index is a bitmap over the ranks in one to three levels. A word of 64 bits tells of 32 things which are there
// (low half) and how many came in the words before (high half): so a feature's bit, and the bits below it, say whether
// there is a row and which. With one level the words cover all features. With two the words without any bit are left
// out, and words of a second level, each for 32 of the first, say which are there; with three the same once more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltrees {

constexpr int kMostChildren = 256;  // of one part
constexpr int kMaskChildren = 16;   // maximum number of children for rows with a 16-bit mask of the children
constexpr int kMostLevels = 3;
constexpr int64_t kLine = 64;
constexpr int64_t kStoreTail = 64;  // zero bytes after the last part: vector loads may run past a row, not past those

enum class ChunkKind : uint8_t {
  masks = 0,         // slot uint32: mask of the children | first unit << 16; at most 16 children
  masks_wide = 1,    // slot uint64: mask | first unit << 32, when 16 bits do not reach
  pairs = 2,         // slot uint32: count | first unit << 8: weights, then children
  matrix_half = 3,   // no index: a row of n_features weights a child, for data without zeros
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

// Half of all rows have a single weight. Their slot holds it and there is no entry: in place of the first unit in masks
// (one bit set in the mask), and after the child, in its upper 16 bits, in pairs (count 1, child << 8).
// Other counts of pairs:
constexpr uint32_t kMostPairs = 0x7F;
constexpr uint32_t kFullRow = 0x80;  // a row of `dense`, its number in place of the first unit
constexpr uint32_t kMaskRow = 0x81;  // entries: a mask for each 16 children, then the weights

// static: the vector kernels include this file, and their copies must not serve other callers (simd/kernels.inl).
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

}  // namespace labeltrees
