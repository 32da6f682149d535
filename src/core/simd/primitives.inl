// Types shared by the primitives of every instruction set. Each <instruction set>.cpp defines LABELTREES_ISA, includes
// this file, defines its primitives (or takes those of scalar.inl), and then includes kernels.inl, the algorithms over
// them:
//
//   kName                                      the name of the set
//   half_of(half)                              a half as a float
//   Lanes, kLanes, load_lanes, zero_lanes, fma_lanes, sum_lanes       a vector of floats
//   bits_of<lanes>(mask)                       a bit per lane
//   gather_dot                                 (kernels.hpp)
//   find_in_index<levels>(words, query, list)  list the rows of a query's features, in one pass over all levels
//   find_in_level(words, shift, list)          keep the features that a level of an index has
//   list_rows(list, rows)                      list rows by their kind
//   MaskSums                                   sums of up to 16 children
//   add_full, add_masked, add_listed           add the rows of chunks with more children
//   select_children, find_best, priority_scores, add_child_values     (kernels.hpp)
//
// Only plain loops and intrinsics here, no standard templates: an inline function compiled with AVX-512 flags could
// otherwise be the copy the linker keeps for every caller, and crash an older processor.
#include <math.h>

#include "chunk/format.hpp"
#include "common/half.hpp"
#include "simd/kernels.hpp"

namespace labeltrees::simd::LABELTREES_ISA {

// The compiler's vector types: it splits them if the instruction set is narrower.
template <int lanes>
struct Vec;
template <>
struct Vec<4> {
  typedef float Floats __attribute__((vector_size(16), may_alias));
  typedef int32_t Ints __attribute__((vector_size(16), may_alias));
  static constexpr Ints lane_bits = {1, 2, 4, 8};
};
template <>
struct Vec<8> {
  typedef float Floats __attribute__((vector_size(32), may_alias));
  typedef int32_t Ints __attribute__((vector_size(32), may_alias));
  static constexpr Ints lane_bits = {1, 2, 4, 8, 16, 32, 64, 128};
};
template <>
struct Vec<16> {
  typedef float Floats __attribute__((vector_size(64), may_alias));
  typedef int32_t Ints __attribute__((vector_size(64), may_alias));
  static constexpr Ints lane_bits = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
};

// Lists the rows of a chunk with at most 16 children (ChunkKind::masks and masks_wide): where their weights start, in
// units from the start of the entries, and their masks. A single weight lies in the slot itself, before the entries.
template <class Slot>
struct MaskRows {
  const uint8_t* slots;
  int32_t first_slot;  // its upper half, in units from the start of the entries: negative
  ChunkRowList list;
  static constexpr int kUnits = sizeof(Slot) / 2;
};

// Lists the rows of a chunk with more children by their kind, each with its slot (at: the slot's upper 24 bits, which:
// the count).
struct PairRows {
  const uint8_t* slots;
  ChunkRowList single, full, masked, listed;
};

// Calls add(packed weights, mask, value, first child) for every 8 children of rows with masks.
template <class Add>
static inline __attribute__((always_inline)) void each_mask_byte(const uint8_t* entries, const ChunkRowList& rows,
                                                                 int n_masks, Add add) {
  for (int64_t i = 0; i < rows.n; ++i) {
    const uint8_t *masks = entries + 2 * int64_t{rows.at[i]}, *weights = masks + 2 * n_masks;
    for (int byte = 0; byte < 2 * n_masks; ++byte) {
      const uint32_t mask = masks[byte];
      add(weights, mask, rows.value[i], 8 * byte);
      weights += 2 * __builtin_popcount(mask);
    }
  }
}

}  // namespace labeltrees::simd::LABELTREES_ISA
