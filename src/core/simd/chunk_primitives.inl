// Part of kernels.inl: what the chunk kernels are built from. Most of these exist once per instruction set.

static inline const float* bias_of(const uint8_t* part, const chunk::ChunkHeader& header) {
  return reinterpret_cast<const float*>(part + chunk::kLine + 4 * header.n_children);
}

static inline float half_of(uint16_t half) {
#if defined(__AVX2__)
  return _cvtsh_ss(half);
#elif defined(LABELTREES_NEON)
  __fp16 value;
  __builtin_memcpy(&value, &half, 2);
  return value;
#else
  return from_half(half);
#endif
}

static inline float half_at(const uint8_t* at) {
  uint16_t half;
  __builtin_memcpy(&half, at, 2);
  return half_of(half);
}

#if defined(__AVX2__) && !defined(__AVX512F__)
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
#endif

#if defined(__AVX512F__)
// Bits set in each lane.
static inline __m512i popcount_lanes(__m512i x) {
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i counts = _mm512_broadcast_i32x4(_mm_set_epi8(4, 3, 3, 2, 3, 2, 2, 1, 3, 2, 2, 1, 2, 1, 1, 0));
  __m512i bytes = _mm512_add_epi8(_mm512_shuffle_epi8(counts, _mm512_and_si512(x, nibble)),
                                  _mm512_shuffle_epi8(counts, _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble)));
  return _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, _mm512_set1_epi8(1)), _mm512_set1_epi16(1));
}

static inline void append(ChunkRowList& list, __mmask16 lanes, __m512i at, __m512i which, __m512 value) {
  _mm512_storeu_si512(list.at + list.n, _mm512_maskz_compress_epi32(lanes, at));
  _mm512_storeu_si512(list.which + list.n, _mm512_maskz_compress_epi32(lanes, which));
  _mm512_storeu_ps(list.value + list.n, _mm512_maskz_compress_ps(lanes, value));
  list.n += __builtin_popcount(lanes);
}
#endif

// A vector of floats, as wide as the instruction set has it.
#if defined(__AVX512F__)
using Lanes = __m512;
static inline Lanes load_lanes(const float* at) { return _mm512_loadu_ps(at); }
static inline Lanes load_lanes(const uint16_t* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}
static inline Lanes zero_lanes() { return _mm512_setzero_ps(); }
static inline Lanes fma_lanes(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
static inline float sum_lanes(Lanes a) { return _mm512_reduce_add_ps(a); }
constexpr int kLanes = 16;
#elif defined(__AVX2__)
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
#elif defined(LABELTREES_NEON)
#include "simd/neon_primitives.inl"
#else
using Lanes = float;
static inline Lanes load_lanes(const float* at) { return *at; }
static inline Lanes load_lanes(const uint16_t* at) { return from_half(*at); }
static inline Lanes zero_lanes() { return 0.0f; }
static inline Lanes fma_lanes(Lanes a, Lanes b, Lanes c) { return a * b + c; }
static inline float sum_lanes(Lanes a) { return a; }
constexpr int kLanes = 1;
#endif
