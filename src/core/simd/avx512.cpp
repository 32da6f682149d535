// The kernels in AVX-512 (F, BW, VL, DQ).
#define LABELTREES_ISA avx512
#include <immintrin.h>

// Each of these uses the ones before it:
// clang-format off
#include "simd/primitives.inl"
#include "simd/x86.inl"
// clang-format on

namespace labeltrees::simd::avx512 {

static constexpr const char* kName = "avx512";

using Lanes = __m512;
static inline Lanes load_lanes(const float* at) { return _mm512_loadu_ps(at); }
static inline Lanes load_lanes(const uint16_t* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}
static inline Lanes zero_lanes() { return _mm512_setzero_ps(); }
static inline Lanes fma_lanes(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
static inline float sum_lanes(Lanes a) { return _mm512_reduce_add_ps(a); }
constexpr int kLanes = 16;

template <int lanes>
static inline __attribute__((always_inline)) uint32_t bits_of(const typename Vec<lanes>::Ints& mask) {
  if constexpr (lanes == 16) return _mm512_movepi32_mask(reinterpret_cast<const __m512i&>(mask));
  if constexpr (lanes == 8) return _mm256_movepi32_mask(reinterpret_cast<const __m256i&>(mask));
  if constexpr (lanes == 4) return _mm_movepi32_mask(reinterpret_cast<const __m128i&>(mask));
}

static float gather_dot(const int32_t* columns, const float* values, int64_t n, const float* dense) {
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
}

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

template <class Slot>
static inline void list_rows(__mmask16 found, __m512i row, __m512 value, MaskRows<Slot>& rows) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i mask = _mm512_mask_i32gather_epi32(zero, found, row, rows.slots, sizeof(Slot)), start;
  if constexpr (sizeof(Slot) == 4) {
    start = _mm512_srli_epi32(mask, 16);
    mask = _mm512_and_si512(mask, _mm512_set1_epi32(0xFFFF));
  } else {
    start = _mm512_mask_i32gather_epi32(zero, found, row, rows.slots + 4, sizeof(Slot));
  }
  __mmask16 single = _mm512_testn_epi32_mask(mask, _mm512_sub_epi32(mask, _mm512_set1_epi32(1)));
  __m512i here = _mm512_add_epi32(_mm512_mullo_epi32(row, _mm512_set1_epi32(MaskRows<Slot>::kUnits)),
                                  _mm512_set1_epi32(rows.first_slot));
  append(rows.list, found, _mm512_mask_mov_epi32(start, single, here), mask, value);
}

static inline void list_rows(__mmask16 found, __m512i row, __m512 value, PairRows& rows) {
  __m512i slot = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), found, row, rows.slots, 4);
  __m512i count = _mm512_and_si512(slot, _mm512_set1_epi32(0xFF)), at = _mm512_srli_epi32(slot, 8);
  __mmask16 is_single = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(1));
  __mmask16 is_full = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(chunk::kFullRow));
  __mmask16 is_masked = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(chunk::kMaskRow));
  // For a single weight, list the child's place and the product of weight and value.
  __m512 weight = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(slot, 16)));
  append(rows.single, is_single, _mm512_and_si512(at, _mm512_set1_epi32(0xFF)), count, _mm512_mul_ps(weight, value));
  append(rows.full, is_full, at, count, value);
  append(rows.masked, is_masked, at, count, value);
  append(rows.listed, static_cast<__mmask16>(found & ~is_single & ~is_full & ~is_masked), at, count, value);
}

static inline __mmask16 first_lanes(int64_t n) {
  return n >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1u << n) - 1);
}

// The first output list may be the input list: writing never gets ahead of reading.
template <class Rows>
static inline void list_rows(const ChunkRowList& waiting, Rows& rows) {
  const int64_t n = waiting.n;
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = first_lanes(n - i);
    list_rows(lanes, _mm512_maskz_loadu_epi32(lanes, waiting.at + i), _mm512_maskz_loadu_ps(lanes, waiting.value + i),
              rows);
  }
}

static void find_in_level(const uint8_t* words, uint32_t shift, ChunkRowList& list) {
  const __m512i one = _mm512_set1_epi32(1), zero = _mm512_setzero_si512(), low = _mm512_set1_epi32(31);
  const __m128i count = _mm_cvtsi32_si128(static_cast<int>(shift));
  const int64_t n = list.n;
  list.n = 0;
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = first_lanes(n - i);
    const __m512i place = _mm512_maskz_loadu_epi32(lanes, list.at + i);
    const __m512i rank = _mm512_maskz_loadu_epi32(lanes, list.which + i);
    const __m512 value = _mm512_maskz_loadu_ps(lanes, list.value + i);
    const __m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(_mm512_srl_epi32(rank, count), low));
    const __m512i bits = _mm512_mask_i32gather_epi32(zero, lanes, place, words, 8);
    const __mmask16 found = _mm512_test_epi32_mask(bits, bit);
    const __m512i before = _mm512_mask_i32gather_epi32(zero, found, place, words + 4, 8);
    append(list, found, _mm512_add_epi32(before, popcount_lanes(_mm512_and_si512(bits, _mm512_sub_epi32(bit, one)))),
           rank, value);
  }
}

template <int levels>
static void find_in_index(const uint8_t* const* words, const ChunkQuery& query, ChunkRowList& list) {
  const __m512i one = _mm512_set1_epi32(1), zero = _mm512_setzero_si512(), low = _mm512_set1_epi32(31);
  list.n = 0;
  for (int64_t i = 0; i < query.n; i += 16) {
    const __mmask16 lanes = first_lanes(query.n - i);
    const __m512i rank = _mm512_maskz_loadu_epi32(lanes, query.rank + i);
    __m512i place = _mm512_srli_epi32(rank, 5 * levels);
    __mmask16 found = lanes;
    for (int level = 0; level < levels; ++level) {
      const __m512i bit =
          _mm512_sllv_epi32(one, _mm512_and_si512(_mm512_srli_epi32(rank, 5 * (levels - 1 - level)), low));
      const __m512i bits = _mm512_mask_i32gather_epi32(zero, found, place, words[level], 8);
      found = _mm512_test_epi32_mask(bits, bit);
      const __m512i before = _mm512_mask_i32gather_epi32(zero, found, place, words[level] + 4, 8);
      place = _mm512_add_epi32(before, popcount_lanes(_mm512_and_si512(bits, _mm512_sub_epi32(bit, one))));
    }
    append(list, found, place, rank, _mm512_maskz_loadu_ps(lanes, query.value + i));
  }
}

struct MaskSums {
  __m512 sums;
  void start(const float* bias, int n_children) {
    sums = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n_children) - 1), bias);
  }
  // mask: address of its 16 bits. A load from memory into the mask register avoids the busiest port.
  void add(const uint8_t* weights, const void* mask, float value) {
    __m512 row = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
    __mmask16 present = _load_mask16(static_cast<__mmask16*>(const_cast<void*>(mask)));
    sums = _mm512_fmadd_ps(_mm512_maskz_expand_ps(present, row), _mm512_set1_ps(value), sums);
  }
  void merge(const MaskSums& other) { sums = _mm512_add_ps(sums, other.sums); }
  void finish(float* margins) const { _mm512_storeu_ps(margins, sums); }
};

static void add_full(const uint8_t* first, const ChunkRowList& rows, int n_padded, float* margins) {
  for (int column = 0; column < n_padded; column += 64) {
    int n_vectors = (n_padded - column) / 16;
    if (n_vectors >= 4) {
      float* to = margins + column;
      __m512 a = _mm512_loadu_ps(to), b = _mm512_loadu_ps(to + 16), c = _mm512_loadu_ps(to + 32),
             d = _mm512_loadu_ps(to + 48);
      for (int64_t i = 0; i < rows.n; ++i) {
        const uint8_t* at = first + 2 * (int64_t{rows.at[i]} * n_padded + column);
        const __m256i* row = reinterpret_cast<const __m256i*>(at);
        __m512 value = _mm512_set1_ps(rows.value[i]);
        if (n_vectors > 4) {  // the row's next two lines, for the next round
          __builtin_prefetch(at + 2 * chunk::kLine);
          __builtin_prefetch(at + 3 * chunk::kLine);
        }
        a = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm256_loadu_si256(row)), value, a);
        b = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm256_loadu_si256(row + 1)), value, b);
        c = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm256_loadu_si256(row + 2)), value, c);
        d = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm256_loadu_si256(row + 3)), value, d);
      }
      _mm512_storeu_ps(to, a);
      _mm512_storeu_ps(to + 16, b);
      _mm512_storeu_ps(to + 32, c);
      _mm512_storeu_ps(to + 48, d);
      continue;
    }
    for (int vector = 0; vector < n_vectors; ++vector) {
      float* to = margins + column + 16 * vector;
      __m512 a = _mm512_loadu_ps(to);
      for (int64_t i = 0; i < rows.n; ++i) {
        const uint8_t* at = first + 2 * (int64_t{rows.at[i]} * n_padded + column + 16 * vector);
        __m512 row = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
        a = _mm512_fmadd_ps(row, _mm512_set1_ps(rows.value[i]), a);
      }
      _mm512_storeu_ps(to, a);
    }
  }
}

static void add_masked(const uint8_t* entries, const ChunkRowList& rows, int n_masks, float* margins) {
  for (int first = 0; first < n_masks; first += 4) {  // 64 children at a time, their sums in registers
    float* to = margins + 16 * first;
    __m512 a = _mm512_loadu_ps(to), b = _mm512_loadu_ps(to + 16), c = _mm512_loadu_ps(to + 32),
           d = _mm512_loadu_ps(to + 48);
    uint64_t there = n_masks - first >= 4 ? ~uint64_t{0} : (uint64_t{1} << (16 * (n_masks - first))) - 1;
    for (int64_t i = 0; i < rows.n; ++i) {
      const uint8_t *masks = entries + 2 * int64_t{rows.at[i]}, *weights = masks + 2 * n_masks;
      uint64_t four;
      for (int before = 0; before < first; before += 4) {
        __builtin_memcpy(&four, masks + 2 * before, 8);
        weights += 2 * __builtin_popcountll(four);
      }
      __builtin_memcpy(&four, masks + 2 * first, 8);
      four &= there;
      auto row = [&](int shift) __attribute__((always_inline)) {
        const uint8_t* at = weights + 2 * __builtin_popcountll(four & ((uint64_t{1} << shift) - 1));
        __m512 packed = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
        return _mm512_maskz_expand_ps(static_cast<__mmask16>(four >> shift), packed);
      };
      __m512 value = _mm512_set1_ps(rows.value[i]);
      a = _mm512_fmadd_ps(row(0), value, a);
      b = _mm512_fmadd_ps(row(16), value, b);
      c = _mm512_fmadd_ps(row(32), value, c);
      d = _mm512_fmadd_ps(row(48), value, d);
    }
    _mm512_storeu_ps(to, a);
    _mm512_storeu_ps(to + 16, b);
    _mm512_storeu_ps(to + 32, c);
    _mm512_storeu_ps(to + 48, d);
  }
}

static int64_t select_children(const float* scores, const int32_t* children, int64_t n, float limit, float* nodes,
                               uint8_t* labels) {
  int64_t n_labels = 0;
  const __m512 none = _mm512_set1_ps(-__builtin_inff()), lowest = _mm512_set1_ps(limit);
  for (int64_t i = 0; i < n; i += 16) {
    __mmask16 lanes = n - i >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (n - i)) - 1);
    __m512 score = _mm512_maskz_loadu_ps(lanes, scores + i);
    __mmask16 enough = _mm512_mask_cmp_ps_mask(lanes, score, lowest, _CMP_GE_OQ);
    __mmask16 label =
        _mm512_mask_cmplt_epi32_mask(enough, _mm512_maskz_loadu_epi32(lanes, children + i), _mm512_setzero_si512());
    _mm512_storeu_ps(nodes + i, _mm512_mask_blend_ps(static_cast<__mmask16>(enough & ~label), none, score));
    for (uint32_t bits = label; bits; bits &= bits - 1)
      labels[n_labels++] = static_cast<uint8_t>(i + __builtin_ctz(bits));
  }
  return n_labels;
}

static int32_t find_best(const float* scores, const int32_t* children, int64_t n) {
  __m512 highest = _mm512_loadu_ps(scores);
  for (int64_t i = 16; i < n; i += 16) highest = _mm512_max_ps(highest, _mm512_loadu_ps(scores + i));
  float best = _mm512_reduce_max_ps(highest);
  if (best == -__builtin_inff()) return 0;  // labels only: all would be equal
  int32_t best_at = -1;
  for (int64_t i = 0; i < n; i += 16)
    for (uint32_t bits = _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + i), _mm512_set1_ps(best), _CMP_EQ_OQ); bits;
         bits &= bits - 1) {
      auto other = static_cast<int32_t>(i + __builtin_ctz(bits));
      if (best_at < 0 || children[other] < children[best_at]) best_at = other;
    }
  return best_at;
}

static void priority_scores(const int32_t* children, int64_t n, float limit, const float* discounts, float scale,
                            float* nodes, float* scores) {
  const __m512 none = _mm512_set1_ps(-__builtin_inff()), least = _mm512_set1_ps(-__FLT_MAX__);
  const __m512 lowest = _mm512_max_ps(_mm512_set1_ps(limit), least), from = _mm512_set1_ps(scale);
  for (int64_t i = 0; i < n; i += 16) {
    __m512 score = _mm512_loadu_ps(nodes + i);
    _mm512_storeu_ps(scores + i, score);
    __mmask16 open = _mm512_cmp_ps_mask(score, lowest, _CMP_GE_OQ);
    __m512 discount = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), open, _mm512_maskz_loadu_epi32(open, children + i),
                                               discounts, sizeof(float));
    __m512 priority = _mm512_max_ps(_mm512_fnmadd_ps(discount, _mm512_sub_ps(from, score), score), least);
    _mm512_storeu_ps(nodes + i, _mm512_mask_blend_ps(open, none, priority));
  }
}

static void add_child_values(const float* scores, const int32_t* children, int64_t n, const float* values, float* out) {
  for (int64_t i = 0; i < n; i += 16) {
    __mmask16 lanes = n - i >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (n - i)) - 1);
    __m512 value = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, _mm512_maskz_loadu_epi32(lanes, children + i),
                                            values, sizeof(float));
    _mm512_mask_storeu_ps(out + i, lanes, _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, scores + i), value));
  }
}

}  // namespace labeltrees::simd::avx512
#include "simd/kernels.inl"
