// Part of kernels.inl: evaluating one part of a chunk.
//
// The margins of sparse chunks are computed in loops over all features of the query: look them up, then add the rows
// that were found. The loads of a loop do not depend on each other, so many cache misses overlap. Hits are collected
// without a branch: half of the lookups hit, and a mispredicted branch costs more than a lookup.

// clang-format off: the others use the primitives
#include "simd/chunk_primitives.inl"
#include "simd/chunk_index.inl"
#include "simd/mask_chunks.inl"
#include "simd/matrix_chunks.inl"
#include "simd/pair_chunks.inl"
// clang-format on

static void chunk_margins(const uint8_t* part, const ChunkQuery& query, float* margins) {
  const chunk::ChunkHeader& header = *reinterpret_cast<const chunk::ChunkHeader*>(part);
  switch (header.kind) {
    case chunk::ChunkKind::masks:
      return mask_margins<uint32_t>(part, header, query, margins);
    case chunk::ChunkKind::masks_wide:
      return mask_margins<uint64_t>(part, header, query, margins);
    case chunk::ChunkKind::pairs:
      return pair_margins(part, header, query, margins);
    case chunk::ChunkKind::matrix_half:
      return matrix_margins<uint16_t>(part, header, query, margins);
    case chunk::ChunkKind::matrix_float:
      return matrix_margins<float>(part, header, query, margins);
  }
}

static int64_t select_children(const float* scores, const int32_t* children, int64_t n, float limit, float* nodes,
                               uint8_t* labels) {
  int64_t n_labels = 0;
#if defined(__AVX512F__)
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
#else
  for (int64_t i = 0; i < n; ++i) {
    bool enough = scores[i] >= limit, label = children[i] < 0;
    nodes[i] = enough && !label ? scores[i] : -__builtin_inff();
    labels[n_labels] = static_cast<uint8_t>(i);
    n_labels += enough && label;
  }
  for (int64_t i = n; i < chunk::round_up(n, 16); ++i) nodes[i] = -__builtin_inff();
#endif
  return n_labels;
}

static int32_t find_best(const float* scores, const int32_t* children, int64_t n) {
#if defined(__AVX512F__)
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
#else
  int32_t best_at = 0;
  for (int64_t i = 1; i < n; ++i)
    if (scores[i] > scores[best_at] || (scores[i] == scores[best_at] && children[i] < children[best_at]))
      best_at = static_cast<int32_t>(i);
  return best_at;
#endif
}

static void priority_scores(const int32_t* children, int64_t n, float limit, const float* discounts, float scale,
                            float* nodes, float* scores) {
#if defined(__AVX512F__)
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
#else
  for (int64_t i = 0; i < n; ++i) {
    float score = nodes[i];
    scores[i] = score;
    if (score == -__builtin_inff()) continue;
    float priority = score >= limit ? score - discounts[children[i]] * (scale - score) : -__builtin_inff();
    nodes[i] = score >= limit && priority < -__FLT_MAX__ ? -__FLT_MAX__ : priority;
  }
#endif
}

static void add_child_values(const float* scores, const int32_t* children, int64_t n, const float* values, float* out) {
#if defined(__AVX512F__)
  for (int64_t i = 0; i < n; i += 16) {
    __mmask16 lanes = n - i >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (n - i)) - 1);
    __m512 value = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, _mm512_maskz_loadu_epi32(lanes, children + i),
                                            values, sizeof(float));
    _mm512_mask_storeu_ps(out + i, lanes, _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, scores + i), value));
  }
#else
  for (int64_t i = 0; i < n; ++i) out[i] = scores[i] + values[children[i]];
#endif
}
