// Part of kernels.inl: margins of chunks with more than 16 children.

// Lists rows by their kind, each with its slot (at: the slot's upper 24 bits, which: the count).
struct PairRows {
  const uint8_t* slots;
  ChunkRowList single, full, masked, listed;

#if defined(__AVX512F__)
  void sixteen(__mmask16 found, __m512i row, __m512 value) {
    __m512i slot = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), found, row, slots, 4);
    __m512i count = _mm512_and_si512(slot, _mm512_set1_epi32(0xFF)), at = _mm512_srli_epi32(slot, 8);
    __mmask16 is_single = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(1));
    __mmask16 is_full = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(chunk::kFullRow));
    __mmask16 is_masked = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(chunk::kMaskRow));
    // A single weight: the child's place, and its product with the value at once.
    __m512 weight = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(slot, 16)));
    append(single, is_single, _mm512_and_si512(at, _mm512_set1_epi32(0xFF)), count, _mm512_mul_ps(weight, value));
    append(full, is_full, at, count, value);
    append(masked, is_masked, at, count, value);
    append(listed, static_cast<__mmask16>(found & ~is_single & ~is_full & ~is_masked), at, count, value);
  }
#endif
  void one(uint32_t found, uint32_t row, float value) {
    uint32_t slot;
    __builtin_memcpy(&slot, slots + 4 * int64_t{row}, 4);
    uint32_t count = slot & 0xFF, is_single = count == 1, is_full = count == chunk::kFullRow,
             is_masked = count == chunk::kMaskRow;
    single.at[single.n] = static_cast<int32_t>(slot >> 8 & 0xFF);
    single.value[single.n] = half_of(static_cast<uint16_t>(slot >> 16)) * value;
    full.at[full.n] = masked.at[masked.n] = listed.at[listed.n] = static_cast<int32_t>(slot >> 8);
    full.value[full.n] = masked.value[masked.n] = listed.value[listed.n] = value;
    listed.which[listed.n] = count;
    single.n += found & is_single;
    full.n += found & is_full;
    masked.n += found & is_masked;
    listed.n += found & ~(is_single | is_full | is_masked);
  }
};

// margins[c] += sum over rows of value * row[c], rows of n_padded halves.
static void add_full(const uint8_t* first, const ChunkRowList& rows, int n_padded, float* margins) {
#if defined(__AVX512F__)
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
#elif defined(__AVX2__)
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
#elif defined(LABELTREES_NEON)
  neon_add_full(first, rows, n_padded, margins);
#else
  for (int64_t i = 0; i < rows.n; ++i)
    for (int child = 0; child < n_padded; ++child)
      margins[child] += half_at(first + 2 * (int64_t{rows.at[i]} * n_padded + child)) * rows.value[i];
#endif
}

// The same for rows with a mask for each 16 children.
static void add_masked(const uint8_t* entries, const ChunkRowList& rows, int n_masks, float* margins) {
#if defined(__AVX512F__)
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
#else
  for (int64_t i = 0; i < rows.n; ++i) {
    const uint8_t *masks = entries + 2 * int64_t{rows.at[i]}, *weights = masks + 2 * n_masks;
    for (int byte = 0; byte < 2 * n_masks; ++byte) {
      uint32_t mask = masks[byte];
#if defined(__AVX2__)
      float* to = margins + 8 * byte;
      __m256 sums = _mm256_fmadd_ps(expand8(weights, mask), _mm256_set1_ps(rows.value[i]), _mm256_loadu_ps(to));
      _mm256_storeu_ps(to, sums);
      weights += 2 * __builtin_popcount(mask);
#elif defined(LABELTREES_NEON)
      neon_add_masked(weights, mask, rows.value[i], margins + 8 * byte);
      weights += 2 * __builtin_popcount(mask);
#else
      for (; mask; mask &= mask - 1, weights += 2)
        margins[8 * byte + __builtin_ctz(mask)] += half_at(weights) * rows.value[i];
#endif
    }
  }
#endif
}

// margins[child] += value * weight for the pairs of each row: its weights, then their children.
static void add_listed(const uint8_t* entries, const ChunkRowList& rows, float* margins) {
  for (int64_t i = 0; i < rows.n; ++i) {
    int count = static_cast<int>(rows.which[i]);
    const uint8_t *weights = entries + 2 * int64_t{rows.at[i]}, *children = weights + 2 * count;
#if defined(__AVX2__)
    // Four at a time, those beyond the row zeroed: most rows are done in one round, so the loop's end is well guessed.
    const __m128i lanes = _mm_set_epi32(3, 2, 1, 0);
    __m128 value = _mm_set1_ps(rows.value[i]);
    for (; count > 0; count -= 4, weights += 8, children += 4) {
      __m128 products = _mm_mul_ps(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights))), value);
      products = _mm_and_ps(products, _mm_castsi128_ps(_mm_cmpgt_epi32(_mm_set1_epi32(count), lanes)));
      alignas(16) float product[4];
      _mm_store_ps(product, products);
      margins[children[0]] += product[0];
      margins[children[1]] += product[1];
      margins[children[2]] += product[2];
      margins[children[3]] += product[3];
    }
#else
    for (int pair = 0; pair < count; ++pair) margins[children[pair]] += half_at(weights + 2 * pair) * rows.value[i];
#endif
  }
}

static inline void ask_for_rows(const uint8_t* entries, const ChunkRowList& rows) {
  for (int64_t i = 0; i < rows.n; ++i) __builtin_prefetch(entries + 2 * int64_t{rows.at[i]});
}

static void pair_margins(const uint8_t* part, const chunk::ChunkHeader& header, const ChunkQuery& query,
                         float* margins) {
  chunk::ChunkSections at = chunk::sections_of(header);
  PairRows rows{part + at.slots, query.lists[0], query.lists[1], query.lists[2], query.lists[3]};
  rows.single.n = rows.full.n = rows.masked.n = rows.listed.n = 0;
  find_rows(part + at.index, header, query, rows);
  // On their way while the full rows are added. With the prefetches in add_full and the two rounds of find_rows, 4 to
  // 16% of a search (docs/decisions/0008-chunks.md).
  ask_for_rows(part + at.entries, rows.masked);
  ask_for_rows(part + at.entries, rows.listed);
  const float* bias = bias_of(part, header);
  for (int child = 0; child < header.n_children; ++child) margins[child] = bias[child];
  // All 256: lanes beyond a row's weights add zero to whatever child the next bytes happen to name.
  for (int child = header.n_children; child < chunk::kMostChildren; ++child) margins[child] = 0.0f;
  int n_masks = (header.n_children + 15) / 16;
  add_full(part + at.dense, rows.full, 16 * n_masks, margins);
  add_masked(part + at.entries, rows.masked, n_masks, margins);
  for (int64_t i = 0; i < rows.single.n; ++i) margins[rows.single.at[i]] += rows.single.value[i];
  add_listed(part + at.entries, rows.listed, margins);
}
