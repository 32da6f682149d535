// The kernels in AVX2, with FMA, F16C and BMI2.
#define LABELTREES_ISA avx2
#include <immintrin.h>

// Each of these uses the ones before it:
// clang-format off
#include "simd/primitives.inl"
#include "simd/x86.inl"
#include "simd/scalar.inl"
// clang-format on

namespace labeltrees::simd::avx2 {

static constexpr const char* kName = "avx2";

using scalar::add_child_values;
using scalar::find_best;
using scalar::find_in_index;
using scalar::find_in_level;
using scalar::list_rows;
using scalar::priority_scores;
using scalar::select_children;

using Lanes = __m256;
static inline Lanes load_lanes(const float* at) { return _mm256_loadu_ps(at); }
static inline Lanes load_lanes(const uint16_t* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}
static inline Lanes zero_lanes() { return _mm256_setzero_ps(); }
static inline Lanes fma_lanes(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
static inline float sum_lanes(Lanes a) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
constexpr int kLanes = 8;

template <int lanes>
static inline __attribute__((always_inline)) uint32_t bits_of(const typename Vec<lanes>::Ints& mask) {
  if constexpr (lanes < 8) return scalar::bits_of<lanes>(mask);
  uint32_t bits = 0;
  for (int part = 0; part < lanes / 8; ++part)
    bits |= static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<const __m256*>(&mask)[part])) << (8 * part);
  return bits;
}

static float gather_dot(const int32_t* columns, const float* values, int64_t n, const float* dense) {
  __m256 sum = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256i column = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns + i));
    sum = _mm256_fmadd_ps(_mm256_loadu_ps(values + i), _mm256_i32gather_ps(dense, column, 4), sum);
  }
  float total = sum_lanes(sum);
  for (; i < n; ++i) total += values[i] * dense[columns[i]];
  return total;
}

// For each mask of 8 lanes, the position of each lane's value among the packed ones; 0x80 for a lane without a value.
struct ExpandTable {
  uint64_t lanes[256];
  constexpr ExpandTable() : lanes() {
    for (int mask = 0; mask < 256; ++mask) {
      uint64_t from = 0, packed = 0;
      for (int lane = 0; lane < 8; ++lane) packed |= ((mask >> lane) & 1 ? from++ : uint64_t{0x80}) << (8 * lane);
      lanes[mask] = packed;
    }
  }
};
static constexpr ExpandTable expand_table;

static inline __m256 expand8(const uint8_t* weights, uint32_t mask) {
  __m256 row = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
  __m256i lanes = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(static_cast<long long>(expand_table.lanes[mask])));
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(row, lanes), _mm256_setzero_ps(), _mm256_castsi256_ps(lanes));
}

struct MaskSums {
  __m256 low, high;
  void start(const float* bias, int n_children) {
    alignas(32) float padded[16] = {};
    for (int child = 0; child < n_children; ++child) padded[child] = bias[child];
    low = _mm256_load_ps(padded);
    high = _mm256_load_ps(padded + 8);
  }
  void add(const uint8_t* weights, const void* at, float value) {
    uint16_t mask;
    __builtin_memcpy(&mask, at, 2);
    __m256 factor = _mm256_set1_ps(value);
    low = _mm256_fmadd_ps(expand8(weights, mask & 0xFF), factor, low);
    high = _mm256_fmadd_ps(expand8(weights + 2 * __builtin_popcount(mask & 0xFF), mask >> 8), factor, high);
  }
  void merge(const MaskSums& other) {
    low = _mm256_add_ps(low, other.low);
    high = _mm256_add_ps(high, other.high);
  }
  void finish(float* margins) const {
    _mm256_storeu_ps(margins, low);
    _mm256_storeu_ps(margins + 8, high);
  }
};

static void add_full(const uint8_t* first, const ChunkRowList& rows, int n_padded, float* margins) {
  for (int column = 0; column < n_padded; column += 16) {
    float* to = margins + column;
    __m256 a = _mm256_loadu_ps(to), b = _mm256_loadu_ps(to + 8);
    for (int64_t i = 0; i < rows.n; ++i) {
      const uint8_t* at = first + 2 * (int64_t{rows.at[i]} * n_padded + column);
      const __m128i* row = reinterpret_cast<const __m128i*>(at);
      __m256 value = _mm256_set1_ps(rows.value[i]);
      a = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm_loadu_si128(row)), value, a);
      b = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm_loadu_si128(row + 1)), value, b);
    }
    _mm256_storeu_ps(to, a);
    _mm256_storeu_ps(to + 8, b);
  }
}

static void add_masked(const uint8_t* entries, const ChunkRowList& rows, int n_masks, float* margins) {
  each_mask_byte(entries, rows, n_masks, [&](const uint8_t* weights, uint32_t mask, float value, int child) {
    float* to = margins + child;
    _mm256_storeu_ps(to, _mm256_fmadd_ps(expand8(weights, mask), _mm256_set1_ps(value), _mm256_loadu_ps(to)));
  });
}

}  // namespace labeltrees::simd::avx2

#include "simd/kernels.inl"
