// The kernels in NEON, which every 64-bit ARM processor has. The baseline leaves its use to the compiler.
#define LABELTREES_ISA neon
#include <arm_neon.h>

#include "simd/primitives.inl"

namespace labeltrees::simd::neon {

static constexpr const char* kName = "neon";

static inline float half_of(uint16_t half) {
  __fp16 value;
  __builtin_memcpy(&value, &half, 2);
  return value;
}

}  // namespace labeltrees::simd::neon

#include "simd/scalar.inl"

namespace labeltrees::simd::neon {

using scalar::add_child_values;
using scalar::add_listed;
using scalar::find_best;
using scalar::find_in_index;
using scalar::find_in_level;
using scalar::gather_dot;
using scalar::list_rows;
using scalar::priority_scores;
using scalar::select_children;

template <int lanes>
static inline __attribute__((always_inline)) uint32_t bits_of(const typename Vec<lanes>::Ints& mask) {
  uint32x4_t found = {};  // each lane's bit; they differ, so that their sum has them all
  for (int part = 0; part < lanes / 4; ++part)
    found = vorrq_u32(found, vandq_u32(reinterpret_cast<const uint32x4_t*>(&mask)[part],
                                       reinterpret_cast<const uint32x4_t*>(&Vec<lanes>::lane_bits)[part]));
  return vaddvq_u32(found);
}

// For each mask of 8 children, the bytes of each child's half among the packed ones; 0xFF, which the table lookup
// turns into zero, for a child without a weight.
struct ExpandTable {
  uint8_t bytes[256][16];
  constexpr ExpandTable() : bytes() {
    for (int mask = 0; mask < 256; ++mask) {
      uint8_t from = 0;
      for (int child = 0; child < 8; ++child) {
        const bool present = (mask >> child) & 1;
        bytes[mask][2 * child] = present ? static_cast<uint8_t>(2 * from) : 0xFF;
        bytes[mask][2 * child + 1] = present ? static_cast<uint8_t>(2 * from + 1) : 0xFF;
        from = static_cast<uint8_t>(from + present);
      }
    }
  }
};
static constexpr ExpandTable expand_table;

// sums[0 .. 8) += value * the 8 halves in `halves`
static inline void add_halves(uint8x16_t halves, float value, float32x4_t* sums) {
  const float16x8_t row = vreinterpretq_f16_u8(halves);
  sums[0] = vfmaq_n_f32(sums[0], vcvt_f32_f16(vget_low_f16(row)), value);
  sums[1] = vfmaq_n_f32(sums[1], vcvt_high_f32_f16(row), value);
}

// The same for packed halves and the mask of the children they belong to.
static inline void add_packed(const uint8_t* weights, uint32_t mask, float value, float32x4_t* sums) {
  add_halves(vqtbl1q_u8(vld1q_u8(weights), vld1q_u8(expand_table.bytes[mask])), value, sums);
}

using Lanes = float32x4_t;
static inline Lanes load_lanes(const float* at) { return vld1q_f32(at); }
static inline Lanes load_lanes(const uint16_t* at) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(at))); }
static inline Lanes zero_lanes() { return vdupq_n_f32(0.0f); }
static inline Lanes fma_lanes(Lanes a, Lanes b, Lanes c) { return vfmaq_f32(c, a, b); }
static inline float sum_lanes(Lanes a) { return vaddvq_f32(a); }
constexpr int kLanes = 4;

struct MaskSums {
  float32x4_t sums[4];
  void start(const float* bias, int n_children) {
    float padded[16] = {};
    for (int child = 0; child < n_children; ++child) padded[child] = bias[child];
    for (int part = 0; part < 4; ++part) sums[part] = vld1q_f32(padded + 4 * part);
  }
  void add(const uint8_t* weights, const void* at, float value) {
    uint16_t mask;
    __builtin_memcpy(&mask, at, 2);
    add_packed(weights, mask & 0xFF, value, sums);
    add_packed(weights + 2 * __builtin_popcount(mask & 0xFF), mask >> 8, value, sums + 2);
  }
  void merge(const MaskSums& other) {
    for (int part = 0; part < 4; ++part) sums[part] = vaddq_f32(sums[part], other.sums[part]);
  }
  void finish(float* margins) const {
    for (int part = 0; part < 4; ++part) vst1q_f32(margins + 4 * part, sums[part]);
  }
};

// 16 children at a time, their sums in registers.
static void add_full(const uint8_t* first, const ChunkRowList& rows, int n_padded, float* margins) {
  for (int column = 0; column < n_padded; column += 16) {
    float32x4_t sums[4];
    for (int part = 0; part < 4; ++part) sums[part] = vld1q_f32(margins + column + 4 * part);
    for (int64_t i = 0; i < rows.n; ++i) {
      const uint8_t* at = first + 2 * (int64_t{rows.at[i]} * n_padded + column);
      add_halves(vld1q_u8(at), rows.value[i], sums);
      add_halves(vld1q_u8(at + 16), rows.value[i], sums + 2);
    }
    for (int part = 0; part < 4; ++part) vst1q_f32(margins + column + 4 * part, sums[part]);
  }
}

static void add_masked(const uint8_t* entries, const ChunkRowList& rows, int n_masks, float* margins) {
  each_mask_byte(entries, rows, n_masks, [&](const uint8_t* weights, uint32_t mask, float value, int child) {
    float32x4_t sums[2] = {vld1q_f32(margins + child), vld1q_f32(margins + child + 4)};
    add_packed(weights, mask, value, sums);
    vst1q_f32(margins + child, sums[0]);
    vst1q_f32(margins + child + 4, sums[1]);
  });
}

}  // namespace labeltrees::simd::neon

#include "simd/kernels.inl"
