// The algorithms, written once over the primitives of an instruction set, and the table of its kernels. Included at the
// end of <instruction set>.cpp.
// Each of these uses the ones before it:
// clang-format off
#include "simd/training.inl"
#include "simd/chunks.inl"
#include "simd/text_kernels.inl"
// clang-format on

namespace labeltrees::simd::LABELTREES_ISA {

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

static float sum_present(const uint64_t* row, const uint64_t* query, int64_t n_words, const uint16_t* weights) {
  float sum = 0.0f;
  for (int64_t word = 0; word < n_words; ++word) {
    const uint64_t bits = row[word];
    for (uint64_t both = bits & query[word]; both; both &= both - 1) {
      const uint64_t before = bits & ((both & -both) - 1);
      sum += __builtin_bit_cast(float, uint32_t{weights[__builtin_popcountll(before)]} << 16);
    }
    weights += __builtin_popcountll(bits);
  }
  return sum;
}

extern const Kernels kernels;
const Kernels kernels = {kName,
                         gather_dot,
                         gather_dot_pairs,
                         dense_dot,
                         sum_present,
                         chunk_margins,
                         find_rows,
                         sum_rows,
                         path_scores_table,
                         select_children,
                         find_best,
                         priority_scores,
                         add_child_values,
                         {lane_kernels<4>(), lane_kernels<8>(), lane_kernels<16>()},
                         text_kernels};

}  // namespace labeltrees::simd::LABELTREES_ISA
