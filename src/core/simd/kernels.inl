// Included once per instruction set by baseline.cpp, avx2.cpp, avx512.cpp and neon.cpp, which set LABELTREES_ISA and
// the compiler's flags. Only plain loops and intrinsics here, no standard templates: an inline function compiled with
// AVX-512 flags could otherwise be the copy the linker keeps for every caller, and crash an older processor.
// GCC 12 takes the undefined vectors inside its own AVX-512 intrinsics for mistakes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <math.h>

#include "chunk/format.hpp"
#include "common/half.hpp"
#include "simd/kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(LABELTREES_NEON)
#include <arm_neon.h>
#endif

namespace labeltrees::simd::LABELTREES_ISA {

// clang-format off: each of these uses the ones before it
#include "simd/lane_ops.inl"
#include "simd/losses.inl"
#include "simd/lanes.inl"
#include "simd/chunk_kernels.inl"
#include "simd/text_kernels.inl"
// clang-format on

static float gather_dot(const int32_t* columns, const float* values, int64_t n, const float* dense) {
#if defined(__AVX512F__)
  __m512 sum = _mm512_setzero_ps();
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m512i column = _mm512_loadu_si512(columns + i);
    sum = _mm512_fmadd_ps(_mm512_loadu_ps(values + i), _mm512_i32gather_ps(column, dense, 4), sum);
  }
  if (i < n) {
    __mmask16 rest = static_cast<__mmask16>((1u << (n - i)) - 1u);
    __m512i column = _mm512_maskz_loadu_epi32(rest, columns + i);
    __m512 value = _mm512_maskz_loadu_ps(rest, values + i);
    sum = _mm512_fmadd_ps(value, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), rest, column, dense, 4), sum);
  }
  return _mm512_reduce_add_ps(sum);
#elif defined(__AVX2__)
  __m256 sum = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256i column = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns + i));
    sum = _mm256_fmadd_ps(_mm256_loadu_ps(values + i), _mm256_i32gather_ps(dense, column, 4), sum);
  }
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  float total = _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  for (; i < n; ++i) total += values[i] * dense[columns[i]];
  return total;
#else
  // Four sums hide the latency of the addition.
  float a = 0, b = 0, c = 0, d = 0;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a += values[i] * dense[columns[i]];
    b += values[i + 1] * dense[columns[i + 1]];
    c += values[i + 2] * dense[columns[i + 2]];
    d += values[i + 3] * dense[columns[i + 3]];
  }
  for (; i < n; ++i) a += values[i] * dense[columns[i]];
  return (a + b) + (c + d);
#endif
}

// One load brings both values of a column: 0.5 to 0.7 ns per element for both vectors with AVX2, where each gather_dot
// takes 0.5. Four sums hide the latency of the addition.
static void gather_dot_pairs(const int32_t* columns, const float* values, int64_t n, const float* pairs, float* sums) {
  typedef float Pair __attribute__((vector_size(8), aligned(4), may_alias));
  const Pair* dense = reinterpret_cast<const Pair*>(pairs);
  Pair a = {}, b = {}, c = {}, d = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a += values[i] * dense[columns[i]];
    b += values[i + 1] * dense[columns[i + 1]];
    c += values[i + 2] * dense[columns[i + 2]];
    d += values[i + 3] * dense[columns[i + 3]];
  }
  for (; i < n; ++i) a += values[i] * dense[columns[i]];
  a = (a + b) + (c + d);
  sums[0] = a[0], sums[1] = a[1];
}

// Sixteen running sums: the compiler turns them into as many vectors as the instruction set has.
static float dense_dot(const float* a, const float* b, int64_t n) {
  float sums[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int lane = 0; lane < 16; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  float total = 0;
  for (; i < n; ++i) total += a[i] * b[i];
  for (int lane = 0; lane < 16; ++lane) total += sums[lane];
  return total;
}

extern const Kernels kernels;
const Kernels kernels = {LABELTREES_ISA_NAME,
                         gather_dot,
                         gather_dot_pairs,
                         dense_dot,
                         chunk_margins,
                         path_scores_table,
                         select_children,
                         find_best,
                         priority_scores,
                         add_child_values,
                         {lane_kernels<4>(), lane_kernels<8>(), lane_kernels<16>()},
                         text_kernels};

}  // namespace labeltrees::simd::LABELTREES_ISA
