// Part of kernels.inl: vectors with one lane per classifier.

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

template <int lanes>
struct LaneOps {
  using F = typename Vec<lanes>::Floats;
  using I = typename Vec<lanes>::Ints;

  // out = sum_i values[i] * weights[columns[i]], in four sums to hide the latency of the addition.
  template <bool dense>
  static inline __attribute__((always_inline)) void dot(const int32_t* columns, const float* values, int32_t n,
                                                        const float* weights, F& out) {
    F a = {}, b = {}, c = {}, d = {};
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
      a += values[i] * row<dense>(weights, columns, i);
      b += values[i + 1] * row<dense>(weights, columns, i + 1);
      c += values[i + 2] * row<dense>(weights, columns, i + 2);
      d += values[i + 3] * row<dense>(weights, columns, i + 3);
    }
    for (; i < n; ++i) a += values[i] * row<dense>(weights, columns, i);
    out = (a + b) + (c + d);
  }

  // weights[columns[i]] += values[i] * step
  template <bool dense>
  static inline __attribute__((always_inline)) void add(const int32_t* columns, const float* values, int32_t n,
                                                        const F& step, float* weights) {
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {  // columns of a row are distinct, so loads need not wait for stores
      F &a = row<dense>(weights, columns, i), &b = row<dense>(weights, columns, i + 1);
      F &c = row<dense>(weights, columns, i + 2), &d = row<dense>(weights, columns, i + 3);
      const F new_a = a + values[i] * step, new_b = b + values[i + 1] * step;
      const F new_c = c + values[i + 2] * step, new_d = d + values[i + 3] * step;
      a = new_a;
      b = new_b;
      c = new_c;
      d = new_d;
    }
    for (; i < n; ++i) row<dense>(weights, columns, i) += values[i] * step;
  }

  template <bool dense>
  static inline __attribute__((always_inline)) F& row(float* weights, const int32_t* columns, int32_t i) {
    return *reinterpret_cast<F*>(weights + int64_t{lanes} * (dense ? i : columns[i]));
  }
  template <bool dense>
  static inline __attribute__((always_inline)) const F& row(const float* weights, const int32_t* columns, int32_t i) {
    return *reinterpret_cast<const F*>(weights + int64_t{lanes} * (dense ? i : columns[i]));
  }

  static inline __attribute__((always_inline)) uint32_t bits_of(const I& mask) {
    uint32_t bits = 0;
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
    if constexpr (lanes == 16) return _mm512_movepi32_mask(reinterpret_cast<const __m512i&>(mask));
    if constexpr (lanes == 8) return _mm256_movepi32_mask(reinterpret_cast<const __m256i&>(mask));
    if constexpr (lanes == 4) return _mm_movepi32_mask(reinterpret_cast<const __m128i&>(mask));
#elif defined(__AVX2__)
    if constexpr (lanes >= 8) {
      for (int part = 0; part < lanes / 8; ++part)
        bits |= static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<const __m256*>(&mask)[part])) << (8 * part);
      return bits;
    }
#elif defined(LABELTREES_NEON)
    uint32x4_t found = {};  // each lane's bit; they differ, so that their sum has them all
    for (int part = 0; part < lanes / 4; ++part)
      found = vorrq_u32(found, vandq_u32(reinterpret_cast<const uint32x4_t*>(&mask)[part],
                                         reinterpret_cast<const uint32x4_t*>(&Vec<lanes>::lane_bits)[part]));
    return vaddvq_u32(found);
#endif
    int32_t values[lanes];  // GCC 12 reads mask[lane] wrongly under its sanitizers
    __builtin_memcpy(values, &mask, sizeof values);
    for (int lane = 0; lane < lanes; ++lane) bits |= (values[lane] != 0 ? 1u : 0u) << lane;
    return bits;
  }
};

// Rows come in random order, so prefetch them: the header of a row four visits ahead, its values two visits ahead.
template <int lanes, bool dense>
static inline __attribute__((always_inline)) void prefetch_row(const LanePass& pass, const int32_t* order) {
  __builtin_prefetch(pass.rows + order[4]);
  const LaneRow& next = pass.rows[order[2]];
  __builtin_prefetch(pass.alpha + int64_t{order[2]} * lanes);
  const int32_t n = next.length < 64 ? next.length : 64;  // the hardware prefetcher does the rest
  for (int32_t i = 0; i < n; i += 16) {
    if (!dense) __builtin_prefetch(pass.columns + next.begin + i);
    __builtin_prefetch(pass.values + next.begin + i);
  }
}
