// Part of kernels.inl: looks up a query's features in the index of a chunk.

// Calls take(row, value) for each feature that has a row, in the order of the features: for one of them with `found`
// 1 or 0, or for 16 at once. Lookups do not depend on each other, so cache misses overlap, and there is no branch on
// whether a feature is found: half of them are, and a mispredicted branch costs more than the lookup.
//
// Sixteen at a time it goes in two rounds, first the index for all features, then the slots of those found: more
// lookups fit into what the processor looks ahead, and no lane of the second round is idle. The rows found wait in the
// first list, whose own rows never pass the place that is being read.
template <int levels, class Take>
static inline void find_rows(const uint8_t* index, const chunk::ChunkHeader& header, const ChunkQuery& query,
                             Take& take) {
  const uint8_t* words[3] = {index};
  for (int level = 1; level < levels; ++level) words[level] = words[level - 1] + 8 * int64_t{header.n_words[level - 1]};
#if defined(__AVX512F__)
  const __m512i one = _mm512_set1_epi32(1), zero = _mm512_setzero_si512(), low = _mm512_set1_epi32(31);
  const ChunkRowList& waiting = query.lists[0];
  int64_t n_found = 0;
  for (int64_t i = 0; i < query.n; i += 16) {
    __mmask16 lanes = query.n - i >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (query.n - i)) - 1), found = lanes;
    __m512i rank = _mm512_maskz_loadu_epi32(lanes, query.rank + i), place = _mm512_srli_epi32(rank, 5 * levels);
    for (int level = 0; level < levels; ++level) {
      __m512i place_in_word = _mm512_and_si512(_mm512_srli_epi32(rank, 5 * (levels - 1 - level)), low);
      __m512i bit = _mm512_sllv_epi32(one, place_in_word);
      __m512i bits = _mm512_mask_i32gather_epi32(zero, found, place, words[level], 8);
      found = _mm512_test_epi32_mask(bits, bit);
      __m512i before = _mm512_mask_i32gather_epi32(zero, found, place, words[level] + 4, 8);
      place = _mm512_add_epi32(before, popcount_lanes(_mm512_and_si512(bits, _mm512_sub_epi32(bit, one))));
    }
    _mm512_storeu_si512(waiting.at + n_found, _mm512_maskz_compress_epi32(found, place));
    __m512 value = _mm512_maskz_loadu_ps(lanes, query.value + i);
    _mm512_storeu_ps(waiting.value + n_found, _mm512_maskz_compress_ps(found, value));
    n_found += __builtin_popcount(found);
  }
  for (int64_t i = 0; i < n_found; i += 16) {
    __mmask16 lanes = n_found - i >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (n_found - i)) - 1);
    take.sixteen(lanes, _mm512_maskz_loadu_epi32(lanes, waiting.at + i),
                 _mm512_maskz_loadu_ps(lanes, waiting.value + i));
  }
#else
  for (int64_t i = 0; i < query.n; ++i) {
    uint32_t rank = query.rank[i], place = rank >> (5 * levels), found = 1;
    for (int level = 0; level < levels; ++level) {
      uint64_t word;
      __builtin_memcpy(&word, words[level] + 8 * int64_t{place}, 8);
      uint32_t bit = (rank >> (5 * (levels - 1 - level))) & 31, bits = static_cast<uint32_t>(word);
      found &= bits >> bit;
      // Where nothing is found any place will do that is there.
      place = (static_cast<uint32_t>(word >> 32) + __builtin_popcount(bits & ((1u << bit) - 1))) & (0 - found);
    }
    take.one(found, place, query.value[i]);
  }
#endif
}

template <class Take>
static inline void find_rows(const uint8_t* index, const chunk::ChunkHeader& header, const ChunkQuery& query,
                             Take& take) {
  if (header.n_rows == 0) return;
  if (header.n_levels == 1) return find_rows<1>(index, header, query, take);
  return header.n_levels == 2 ? find_rows<2>(index, header, query, take) : find_rows<3>(index, header, query, take);
}
