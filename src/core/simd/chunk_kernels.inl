// Part of kernels.inl: the weighted sums of one part of a chunk, for every layout of chunk_format.hpp.
//
// The work goes in loops over all of the query's features: look them up, then add what was found. Their loads do not
// depend on each other, so many cache misses are under way at once. Hits are gathered without branching on them: half
// of the lookups hit, and a wrong guess costs more than the lookup.

static inline const float* bias_of(const uint8_t* part, const ChunkHeader& header) {
  return reinterpret_cast<const float*>(part + kLine + 4 * header.n_children);
}

static inline float half_of(uint16_t half) {
#if defined(__AVX2__)
  return _cvtsh_ss(half);
#else
  return from_half(half);
#endif
}

static inline float half_at(const uint8_t* at) {
  uint16_t half;
  __builtin_memcpy(&half, at, 2);
  return half_of(half);
}

// ---- rows told by a mask of at most 16 children: the sums stay in registers -----------------------------------------

#if defined(__AVX512F__)
struct MaskSums {
  __m512 sums;
  void start(const float* bias, int n_children) {
    sums = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n_children) - 1), bias);
  }
  // mask: where its 16 bits lie; from memory they reach the mask register without passing the busiest port.
  void add(const uint8_t* weights, const void* mask, float value) {
    __m512 row = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
    __mmask16 present = _load_mask16(static_cast<__mmask16*>(const_cast<void*>(mask)));
    sums = _mm512_fmadd_ps(_mm512_maskz_expand_ps(present, row), _mm512_set1_ps(value), sums);
  }
  void merge(const MaskSums& other) { sums = _mm512_add_ps(sums, other.sums); }
  void finish(float* margins) const { _mm512_storeu_ps(margins, sums); }
};
#elif defined(__AVX2__)
// For each mask of 8 lanes, where each lane's value stands among the packed ones; 0x80 for a lane without one.
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
#else
struct MaskSums {
  float sums[16];
  void start(const float* bias, int n_children) {
    for (int child = 0; child < 16; ++child) sums[child] = child < n_children ? bias[child] : 0.0f;
  }
  void add(const uint8_t* weights, const void* at, float value) {
    uint16_t bits;
    __builtin_memcpy(&bits, at, 2);
    for (uint32_t mask = bits; mask; mask &= mask - 1, weights += 2)
      sums[__builtin_ctz(mask)] += half_at(weights) * value;
  }
  void merge(const MaskSums& other) {
    for (int child = 0; child < 16; ++child) sums[child] += other.sums[child];
  }
  void finish(float* margins) const {
    for (int child = 0; child < 16; ++child) margins[child] = sums[child];
  }
};
#endif

// ---- the index ------------------------------------------------------------------------------------------------------

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

// Calls take(row, value) for each feature that has a row, in the order of the features: for one of them with `found`
// 1 or 0, or for 16 at once. Lookups do not wait for each other, so many cache misses are under way at once, and there
// is no branch on whether a feature is found: half of them are, and a wrong guess costs more than the lookup.
//
// Sixteen at a time it goes in two rounds, first the index for all features, then the slots of those found: more
// lookups fit into what the processor looks ahead, and no lane of the second round is idle. The rows found wait in the
// first list, whose own rows never pass the place that is being read.
template <int levels, class Take>
static inline void find_rows(const uint8_t* index, const ChunkHeader& header, const ChunkQuery& query, Take& take) {
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
static inline void find_rows(const uint8_t* index, const ChunkHeader& header, const ChunkQuery& query, Take& take) {
  if (header.n_rows == 0) return;
  if (header.n_levels == 1) return find_rows<1>(index, header, query, take);
  return header.n_levels == 2 ? find_rows<2>(index, header, query, take) : find_rows<3>(index, header, query, take);
}

// ---- rows told by masks ---------------------------------------------------------------------------------------------

// Lists rows with where their weights start, in units from the start of the entries, and their masks. A single weight
// lies in the slot itself, before the entries.
template <class Slot>
struct MaskRows {
  const uint8_t* slots;
  int32_t first_slot;  // its upper half, in units from the start of the entries: negative
  ChunkRowList list;
  static constexpr int kUnits = sizeof(Slot) / 2;

#if defined(__AVX512F__)
  void sixteen(__mmask16 found, __m512i row, __m512 value) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i mask = _mm512_mask_i32gather_epi32(zero, found, row, slots, sizeof(Slot)), start;
    if constexpr (sizeof(Slot) == 4) {
      start = _mm512_srli_epi32(mask, 16);
      mask = _mm512_and_si512(mask, _mm512_set1_epi32(0xFFFF));
    } else {
      start = _mm512_mask_i32gather_epi32(zero, found, row, slots + 4, sizeof(Slot));
    }
    __mmask16 single = _mm512_testn_epi32_mask(mask, _mm512_sub_epi32(mask, _mm512_set1_epi32(1)));
    __m512i here = _mm512_add_epi32(_mm512_mullo_epi32(row, _mm512_set1_epi32(kUnits)), _mm512_set1_epi32(first_slot));
    append(list, found, _mm512_mask_mov_epi32(start, single, here), mask, value);
  }
#endif
  void one(uint32_t found, uint32_t row, float value) {
    Slot slot;
    __builtin_memcpy(&slot, slots + sizeof(Slot) * row, sizeof(Slot));
    uint32_t mask = static_cast<uint32_t>(slot) & 0xFFFF;
    auto start = static_cast<int64_t>(slot >> (4 * sizeof(Slot))), here = int64_t{row} * kUnits + first_slot;
    // Chosen by arithmetic and not by a comparison, which compilers turn into a branch.
    int64_t single = (static_cast<int64_t>(mask & (mask - 1)) - 1) >> 63;  // all bits or none
    list.at[list.n] = static_cast<int32_t>(start + ((here - start) & single));
    list.which[list.n] = mask;
    list.value[list.n] = value;
    list.n += found;
  }
};

template <class Slot>
static void mask_margins(const uint8_t* part, const ChunkHeader& header, const ChunkQuery& query, float* margins) {
  ChunkSections at = sections_of(header);
  auto first_slot = static_cast<int32_t>((at.slots - at.entries) / 2 + static_cast<int64_t>(sizeof(Slot)) / 4);
  MaskRows<Slot> rows{part + at.slots, first_slot, query.lists[0]};
  rows.list.n = 0;
  find_rows(part + at.index, header, query, rows);
  const ChunkRowList& list = rows.list;
  const uint8_t* entries = part + at.entries;
  MaskSums sums, odd;  // two, because an addition waits four cycles for the one before
  sums.start(bias_of(part, header), header.n_children);
  odd.start(nullptr, 0);
  int64_t i = 0;
  for (; i + 2 <= list.n; i += 2) {
    sums.add(entries + 2 * int64_t{list.at[i]}, list.which + i, list.value[i]);
    odd.add(entries + 2 * int64_t{list.at[i + 1]}, list.which + i + 1, list.value[i + 1]);
  }
  if (i < list.n) sums.add(entries + 2 * int64_t{list.at[i]}, list.which + i, list.value[i]);
  sums.merge(odd);
  sums.finish(margins);
}

// ---- rows told by pairs: more children ------------------------------------------------------------------------------

// Lists rows by their kind, each with its slot (at: the slot's upper 24 bits, which: the count).
struct PairRows {
  const uint8_t* slots;
  ChunkRowList single, full, masked, listed;

#if defined(__AVX512F__)
  void sixteen(__mmask16 found, __m512i row, __m512 value) {
    __m512i slot = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), found, row, slots, 4);
    __m512i count = _mm512_and_si512(slot, _mm512_set1_epi32(0xFF)), at = _mm512_srli_epi32(slot, 8);
    __mmask16 is_single = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(1));
    __mmask16 is_full = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(kFullRow));
    __mmask16 is_masked = _mm512_mask_cmpeq_epi32_mask(found, count, _mm512_set1_epi32(kMaskRow));
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
    uint32_t count = slot & 0xFF, is_single = count == 1, is_full = count == kFullRow, is_masked = count == kMaskRow;
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
          __builtin_prefetch(at + 2 * kLine);
          __builtin_prefetch(at + 3 * kLine);
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
#else
  for (int64_t i = 0; i < rows.n; ++i)
    for (int child = 0; child < n_padded; ++child)
      margins[child] += half_at(first + 2 * (int64_t{rows.at[i]} * n_padded + child)) * rows.value[i];
#endif
}

// The same for rows told by a mask for each 16 children.
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

static void pair_margins(const uint8_t* part, const ChunkHeader& header, const ChunkQuery& query, float* margins) {
  ChunkSections at = sections_of(header);
  PairRows rows{part + at.slots, query.lists[0], query.lists[1], query.lists[2], query.lists[3]};
  rows.single.n = rows.full.n = rows.masked.n = rows.listed.n = 0;
  find_rows(part + at.index, header, query, rows);
  // On their way while the full rows are added. With the prefetches in add_full and the two rounds of find_rows, 4 to
  // 16% of a search (docs/decisions/0018-memory.md).
  ask_for_rows(part + at.entries, rows.masked);
  ask_for_rows(part + at.entries, rows.listed);
  const float* bias = bias_of(part, header);
  for (int child = 0; child < header.n_children; ++child) margins[child] = bias[child];
  // All 256: lanes beyond a row's weights add zero to whatever child the next bytes happen to name.
  for (int child = header.n_children; child < kMostChildren; ++child) margins[child] = 0.0f;
  int n_masks = (header.n_children + 15) / 16;
  add_full(part + at.dense, rows.full, 16 * n_masks, margins);
  add_masked(part + at.entries, rows.masked, n_masks, margins);
  for (int64_t i = 0; i < rows.single.n; ++i) margins[rows.single.at[i]] += rows.single.value[i];
  add_listed(part + at.entries, rows.listed, margins);
}

// ---- no index: a full matrix ----------------------------------------------------------------------------------------

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
#else
using Lanes = float;
static inline Lanes load_lanes(const float* at) { return *at; }
static inline Lanes load_lanes(const uint16_t* at) { return from_half(*at); }
static inline Lanes zero_lanes() { return 0.0f; }
static inline Lanes fma_lanes(Lanes a, Lanes b, Lanes c) { return a * b + c; }
static inline float sum_lanes(Lanes a) { return a; }
constexpr int kLanes = 1;
#endif

template <class Weight>
static void matrix_margins(const uint8_t* part, const ChunkHeader& header, const ChunkQuery& query, float* margins) {
  const Weight* matrix = reinterpret_cast<const Weight*>(part + sections_of(header).dense);
  const float* bias = bias_of(part, header);
  int64_t n = round_up(header.n_features, 16);
  int child = 0;
  for (; child + 4 <= header.n_children; child += 4) {  // four rows share each load of the query and hide the latency
    const Weight* row = matrix + child * n;
    Lanes a = zero_lanes(), b = a, c = a, d = a;
    for (int64_t i = 0; i < n; i += kLanes) {
      Lanes x = load_lanes(query.dense + i);
      a = fma_lanes(load_lanes(row + i), x, a);
      b = fma_lanes(load_lanes(row + n + i), x, b);
      c = fma_lanes(load_lanes(row + 2 * n + i), x, c);
      d = fma_lanes(load_lanes(row + 3 * n + i), x, d);
    }
    margins[child] = bias[child] + sum_lanes(a);
    margins[child + 1] = bias[child + 1] + sum_lanes(b);
    margins[child + 2] = bias[child + 2] + sum_lanes(c);
    margins[child + 3] = bias[child + 3] + sum_lanes(d);
  }
  for (; child < header.n_children; ++child) {
    Lanes a = zero_lanes();
    for (int64_t i = 0; i < n; i += kLanes)
      a = fma_lanes(load_lanes(matrix + child * n + i), load_lanes(query.dense + i), a);
    margins[child] = bias[child] + sum_lanes(a);
  }
  for (; child < round_up(header.n_children, 16); ++child) margins[child] = 0.0f;
}

// ---------------------------------------------------------------------------------------------------------------------

static void chunk_margins(const uint8_t* part, const ChunkQuery& query, float* margins) {
  const ChunkHeader& header = *reinterpret_cast<const ChunkHeader*>(part);
  switch (header.kind) {
    case ChunkKind::masks:
      return mask_margins<uint32_t>(part, header, query, margins);
    case ChunkKind::masks_wide:
      return mask_margins<uint64_t>(part, header, query, margins);
    case ChunkKind::pairs:
      return pair_margins(part, header, query, margins);
    case ChunkKind::matrix_half:
      return matrix_margins<uint16_t>(part, header, query, margins);
    case ChunkKind::matrix_float:
      return matrix_margins<float>(part, header, query, margins);
  }
}

static void path_scores(const float* margins, int64_t n, float base, float power, float* scores) {
  const float lowest = -3.4028234663852886e38f;
  // The comparison fails for NaN and holds for what overflowed.
  auto bounded = [&](float score) { return score >= lowest ? score : lowest; };
  if (power == 3.0f || power == 2.0f) {
    for (int64_t i = 0; i < n; ++i) {
      float loss = 1.0f - margins[i];
      loss = loss < 0.0f ? 0.0f : loss;
      loss = loss * loss * (power == 3.0f ? loss : 1.0f);
      scores[i] = bounded(base - loss);
    }
  } else if (power > 0.0f) {
    for (int64_t i = 0; i < n; ++i) {
      float loss = 1.0f - margins[i];
      scores[i] = bounded(base - powf(loss < 0.0f ? 0.0f : loss, power));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      float score = base + (margins[i] < 0.0f ? margins[i] : 0.0f) - log1pf(expf(-fabsf(margins[i])));
      scores[i] = bounded(score);
    }
  }
}

static int64_t split_children(const float* scores, const int32_t* children, int64_t n, float limit, float* nodes,
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
  for (int64_t i = n; i < round_up(n, 16); ++i) nodes[i] = -__builtin_inff();
#endif
  return n_labels;
}

static int32_t find_best(const float* scores, const int32_t* children, int64_t n) {
#if defined(__AVX512F__)
  __m512 highest = _mm512_loadu_ps(scores);
  for (int64_t i = 16; i < n; i += 16) highest = _mm512_max_ps(highest, _mm512_loadu_ps(scores + i));
  float best = _mm512_reduce_max_ps(highest);
  if (best == -__builtin_inff()) return 0;  // labels only: every place would be equal
  int32_t place = -1;
  for (int64_t i = 0; i < n; i += 16)
    for (uint32_t bits = _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + i), _mm512_set1_ps(best), _CMP_EQ_OQ); bits;
         bits &= bits - 1) {
      auto other = static_cast<int32_t>(i + __builtin_ctz(bits));
      if (place < 0 || children[other] < children[place]) place = other;
    }
  return place;
#else
  int32_t place = 0;
  for (int64_t i = 1; i < n; ++i)
    if (scores[i] > scores[place] || (scores[i] == scores[place] && children[i] < children[place]))
      place = static_cast<int32_t>(i);
  return place;
#endif
}

static void discount_scores(const int32_t* children, int64_t n, float limit, const float* discounts, float scale,
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
