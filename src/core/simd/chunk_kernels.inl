// Part of kernels.inl: the weighted sums of one part of a chunk, for every layout of chunk_format.hpp.
//
// The work goes in loops over all of the query's features: look them up, then add what was found. Their loads do not
// depend on each other, so many cache misses are under way at once. Hits are gathered without branching on them: half
// of the lookups hit, and a wrong guess costs more than the lookup.

static inline const float* bias_of(const uint8_t* part, const ChunkHeader& header) {
  return reinterpret_cast<const float*>(part + kLine + 4 * header.n_children);
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
static inline float half_at(const uint8_t* at) {
  uint16_t half;
  __builtin_memcpy(&half, at, 2);
  return from_half(half);
}

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

// ---- more children: full rows as vectors, thin ones as pairs --------------------------------------------------------

// margins[c] += sum over hits of value * row[c], rows of n_padded halves.
static void add_dense(const ChunkHit* hits, int64_t n_hits, int n_padded, float* margins) {
#if defined(__AVX512F__)
  for (int first = 0; first < n_padded; first += 64) {
    int n_vectors = (n_padded - first) / 16;
    if (n_vectors >= 4) {
      float* to = margins + first;
      __m512 a = _mm512_loadu_ps(to), b = _mm512_loadu_ps(to + 16), c = _mm512_loadu_ps(to + 32),
             d = _mm512_loadu_ps(to + 48);
      for (int64_t hit = 0; hit < n_hits; ++hit) {
        const __m256i* row = reinterpret_cast<const __m256i*>(hits[hit].at + 2 * first);
        __m512 value = _mm512_set1_ps(hits[hit].value);
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
      float* to = margins + first + 16 * vector;
      __m512 a = _mm512_loadu_ps(to);
      for (int64_t hit = 0; hit < n_hits; ++hit) {
        const __m256i* row = reinterpret_cast<const __m256i*>(hits[hit].at + 2 * first) + vector;
        a = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm256_loadu_si256(row)), _mm512_set1_ps(hits[hit].value), a);
      }
      _mm512_storeu_ps(to, a);
    }
  }
#elif defined(__AVX2__)
  for (int first = 0; first < n_padded; first += 16) {
    float* to = margins + first;
    __m256 a = _mm256_loadu_ps(to), b = _mm256_loadu_ps(to + 8);
    for (int64_t hit = 0; hit < n_hits; ++hit) {
      const __m128i* row = reinterpret_cast<const __m128i*>(hits[hit].at + 2 * first);
      __m256 value = _mm256_set1_ps(hits[hit].value);
      a = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm_loadu_si128(row)), value, a);
      b = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm_loadu_si128(row + 1)), value, b);
    }
    _mm256_storeu_ps(to, a);
    _mm256_storeu_ps(to + 8, b);
  }
#else
  for (int64_t hit = 0; hit < n_hits; ++hit)
    for (int child = 0; child < n_padded; ++child)
      margins[child] += half_at(hits[hit].at + 2 * child) * hits[hit].value;
#endif
}

// margins[child] += value * weight for the pairs of each hit; what: their count | bytes from weights to children << 8.
static void add_pairs(const ChunkHit* hits, int64_t n_hits, float* margins) {
  for (int64_t hit = 0; hit < n_hits; ++hit) {
    const uint8_t *weights = hits[hit].at, *children = weights + (hits[hit].what >> 8);
    int count = static_cast<int>(hits[hit].what & 0x7F);
#if defined(__AVX2__)
    // Four at a time, those beyond the row zeroed: most rows are done in one round, so the loop's end is well guessed.
    const __m128i lanes = _mm_set_epi32(3, 2, 1, 0);
    __m128 value = _mm_set1_ps(hits[hit].value);
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
    for (int pair = 0; pair < count; ++pair) margins[children[pair]] += half_at(weights + 2 * pair) * hits[hit].value;
#endif
  }
}

static void start_margins(const float* bias, int n_children, float* margins) {
  for (int child = 0; child < n_children; ++child) margins[child] = bias[child];
  // All 256: lanes beyond a row's pairs add zero to whatever child the next bytes happen to name.
  for (int child = n_children; child < kMostChildren; ++child) margins[child] = 0.0f;
}

// ---- index: a bitmap with ranks -------------------------------------------------------------------------------------

#if defined(__AVX512F__)
// Bits set in each lane.
static inline __m512i popcount_lanes(__m512i x) {
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i counts = _mm512_broadcast_i32x4(_mm_set_epi8(4, 3, 3, 2, 3, 2, 2, 1, 3, 2, 2, 1, 2, 1, 1, 0));
  __m512i bytes = _mm512_add_epi8(_mm512_shuffle_epi8(counts, _mm512_and_si512(x, nibble)),
                                  _mm512_shuffle_epi8(counts, _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble)));
  return _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, _mm512_set1_epi8(1)), _mm512_set1_epi16(1));
}
#endif

// The rows and values of the features that have one, in the order of the features; returns how many.
static int64_t find_in_bitmap(const uint8_t* words, const ChunkQuery& query) {
  int64_t n = 0, i = 0;
#if defined(__AVX512F__)
  // 16 at a time: about 2 cycles a feature, the plain loop below takes 4.
  const __m512i one = _mm512_set1_epi32(1), zero = _mm512_setzero_si512();
  for (; i < query.n; i += 16) {
    __mmask16 lanes = query.n - i >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (query.n - i)) - 1);
    __m512i feature = _mm512_maskz_loadu_epi32(lanes, query.feature + i);
    __m512i place = _mm512_srli_epi32(feature, 5);
    __m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(feature, _mm512_set1_epi32(31)));
    __m512i bits = _mm512_mask_i32gather_epi32(zero, lanes, place, words, 8);
    __mmask16 found = _mm512_test_epi32_mask(bits, bit);
    __m512i rows = _mm512_mask_i32gather_epi32(zero, found, place, words + 4, 8);
    rows = _mm512_add_epi32(rows, popcount_lanes(_mm512_and_si512(bits, _mm512_sub_epi32(bit, one))));
    __m512 values = _mm512_maskz_loadu_ps(lanes, query.value + i);
    _mm512_storeu_si512(query.rows + n, _mm512_maskz_compress_epi32(found, rows));
    _mm512_storeu_ps(query.values + n, _mm512_maskz_compress_ps(found, values));
    n += __builtin_popcount(found);
  }
#endif
  for (; i < query.n; ++i) {
    uint32_t feature = query.feature[i], bit = feature & 31;
    uint64_t word;
    __builtin_memcpy(&word, words + 8 * int64_t{feature >> 5}, 8);
    uint32_t before = static_cast<uint32_t>(word) & ((1u << bit) - 1);
    query.rows[n] = static_cast<uint32_t>(word >> 32) + __builtin_popcount(before);
    query.values[n] = query.value[i];
    n += (word >> bit) & 1;
  }
  return n;
}

template <class Slot>
static void bitmap_mask_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                                const ChunkQuery& query, float* margins) {
  const Slot* slots = reinterpret_cast<const Slot*>(part + at.slots);
  const uint8_t* entries = part + at.entries;
  int64_t n_rows = find_in_bitmap(part + at.index, query), row = 0;
  MaskSums sums, odd;  // two, because an addition waits four cycles for the one before
  sums.start(bias_of(part, header), header.n_children);
  odd.start(nullptr, 0);
  for (; row + 2 <= n_rows; row += 2) {
    const Slot *a = slots + query.rows[row], *b = slots + query.rows[row + 1];
    sums.add(entries + 2 * static_cast<int64_t>(*a >> (4 * sizeof(Slot))), a, query.values[row]);
    odd.add(entries + 2 * static_cast<int64_t>(*b >> (4 * sizeof(Slot))), b, query.values[row + 1]);
  }
  if (row < n_rows) {
    const Slot* a = slots + query.rows[row];
    sums.add(entries + 2 * static_cast<int64_t>(*a >> (4 * sizeof(Slot))), a, query.values[row]);
  }
  sums.merge(odd);
  sums.finish(margins);
}

static void bitmap_pairs_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                                 const ChunkQuery& query, float* margins) {
  const uint32_t* slots = reinterpret_cast<const uint32_t*>(part + at.slots);
  int64_t n_rows = find_in_bitmap(part + at.index, query), n_dense = 0, n_thin = 0;
  int n_padded = static_cast<int>(round_up(header.n_children, 16));
  for (int64_t row = 0; row < n_rows; ++row) {
    uint32_t slot = slots[query.rows[row]];
    float value = query.values[row];
    bool dense = slot & kDenseFlag;
    query.dense_hits[n_dense] = {part + at.dense + 2 * int64_t{slot >> 8} * n_padded, 0, value};
    query.hits[n_thin] = {part + at.entries + 2 * int64_t{slot >> 8}, (slot & 0x7F) * 0x201, value};
    n_dense += dense;
    n_thin += !dense;
  }
  start_margins(bias_of(part, header), header.n_children, margins);
  add_dense(query.dense_hits, n_dense, n_padded, margins);
  add_pairs(query.hits, n_thin, margins);
}

// ---- index: buckets -------------------------------------------------------------------------------------------------

// The place of a key among the first `count` of a bucket's 16-bit keys; `key` holds it twice. True if it is there.
static inline bool find_key(const uint8_t* keys, uint32_t count, const uint32_t* key, uint32_t& place) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
  uint32_t equal = _mm256_cmpeq_epi16_mask(all, _mm256_set1_epi32(static_cast<int>(*key)));
  equal = _bzhi_u32(equal, count);
  place = __builtin_ctz(equal | 0x10000u);
  return equal != 0;
#elif defined(__AVX2__)
  __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
  __m256i same = _mm256_cmpeq_epi16(all, _mm256_set1_epi32(static_cast<int>(*key)));
  uint32_t equal = _bzhi_u32(static_cast<uint32_t>(_mm256_movemask_epi8(same)), 2 * count);
  place = static_cast<uint32_t>(__builtin_ctzll(equal | uint64_t{1} << 32)) / 2;
  return equal != 0;
#else
  for (place = 0; place < count; ++place) {
    uint16_t other;
    __builtin_memcpy(&other, keys + 2 * place, 2);
    if (other == static_cast<uint16_t>(*key)) return true;
  }
  return false;
#endif
}

// keep[place]: all bits of the first `place` of 16 numbers of 16 bits.
struct KeepTable {
  uint64_t keep[17][4];
  constexpr KeepTable() : keep() {
    for (int place = 0; place <= 16; ++place)
      for (int number = 0; number < place; ++number) keep[place][number / 4] |= uint64_t{0xFFFF} << (16 * (number % 4));
  }
};
static constexpr KeepTable keep_table;

// Bits set in the first `place` of up to 16 masks of 16 bits.
static inline uint32_t bits_before(const uint8_t* masks, uint32_t place) {
  uint64_t four[4];
  __builtin_memcpy(four, masks, 32);
  const uint64_t* keep = keep_table.keep[place];
  return static_cast<uint32_t>(__builtin_popcountll(four[0] & keep[0]) + __builtin_popcountll(four[1] & keep[1]) +
                               __builtin_popcountll(four[2] & keep[2]) + __builtin_popcountll(four[3] & keep[3]));
}

// The features found in the buckets: at the bucket's start, what: rows in the bucket | place among them << 8.
static int64_t find_in_buckets(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                               const ChunkQuery& query) {
  const uint32_t* buckets = reinterpret_cast<const uint32_t*>(part + at.index);
  const uint8_t* entries = part + at.entries;
  int64_t n = 0;
  for (int64_t i = 0; i < query.n; ++i) {
    uint32_t bucket = buckets[bucket_of(query.spread[i], header.n_index)], count = bucket & 31, place;
    const uint8_t* keys = entries + 2 * int64_t{bucket >> 5};
    bool found = find_key(keys, count, query.key + i, place);
    query.hits[n] = {keys, count | place << 8, query.value[i]};
    n += found;
  }
  return n;
}

static void hash_mask_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                              const ChunkQuery& query, float* margins) {
  int64_t n_hits = find_in_buckets(part, header, at, query), hit = 0;
  MaskSums sums, odd;
  sums.start(bias_of(part, header), header.n_children);
  odd.start(nullptr, 0);
  auto add = [&](MaskSums& to, const ChunkHit& found) __attribute__((always_inline)) {
    uint32_t count = found.what & 0xFF, place = found.what >> 8;
    const uint8_t* masks = found.at + 2 * count;
    to.add(masks + 2 * count + 2 * bits_before(masks, place), masks + 2 * place, found.value);
  };
  for (; hit + 2 <= n_hits; hit += 2) {
    add(sums, query.hits[hit]);
    add(odd, query.hits[hit + 1]);
  }
  if (hit < n_hits) add(sums, query.hits[hit]);
  sums.merge(odd);
  sums.finish(margins);
}

// The pairs in the first `place` rows of a bucket, and in all its `count` rows.
static inline void pairs_before(const uint8_t* counts, uint32_t place, uint32_t count, uint32_t& before,
                                uint32_t& total) {
#if defined(__AVX2__)
  const __m128i lanes = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  __m128i all = _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(counts)), _mm_set1_epi8(0x7F));
  auto sum_first = [&](uint32_t n) {
    __m128i kept = _mm_and_si128(all, _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(n)), lanes));
    __m128i sums = _mm_sad_epu8(kept, _mm_setzero_si128());
    return static_cast<uint32_t>(_mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4));
  };
  before = sum_first(place);
  total = sum_first(count);
#else
  before = total = 0;
  for (uint32_t row = 0; row < count; ++row) {
    if (row == place) before = total;
    total += counts[row] & 0x7Fu;
  }
#endif
}

static void hash_pairs_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                               const ChunkQuery& query, float* margins) {
  int64_t n_hits = find_in_buckets(part, header, at, query), n_dense = 0, n_thin = 0;
  int n_padded = static_cast<int>(round_up(header.n_children, 16));
  for (int64_t hit = 0; hit < n_hits; ++hit) {
    ChunkHit found = query.hits[hit];
    uint32_t count = found.what & 0xFF, place = found.what >> 8, before, total;
    const uint8_t* counts = found.at + 2 * count;
    pairs_before(counts, place, count, before, total);
    const uint8_t* weights = counts + round_up(count, 2) + 2 * before;
    bool dense = counts[place] & kDenseFlag;
    if (dense) {  // seldom in a chunk with few of the features, so well guessed
      uint32_t number;
      __builtin_memcpy(&number, weights, 4);
      weights = part + at.dense + 2 * int64_t{number} * n_padded;
    }
    query.dense_hits[n_dense] = {weights, 0, found.value};
    query.hits[n_thin] = {weights, (counts[place] & 0x7Fu) | (2 * total - before) << 8, found.value};
    n_dense += dense;
    n_thin += !dense;
  }
  start_margins(bias_of(part, header), header.n_children, margins);
  add_dense(query.dense_hits, n_dense, n_padded, margins);
  add_pairs(query.hits, n_thin, margins);
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
static void matrix_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                           const ChunkQuery& query, float* margins) {
  const Weight* matrix = reinterpret_cast<const Weight*>(part + at.dense);
  const float* bias = bias_of(part, header);
  int64_t n = round_up(query.n_features, 16);
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
  ChunkSections at = sections_of(header, query.n_features);
  switch (header.kind) {
    case ChunkKind::bitmap_mask:
      return bitmap_mask_margins<uint32_t>(part, header, at, query, margins);
    case ChunkKind::bitmap_mask_wide:
      return bitmap_mask_margins<uint64_t>(part, header, at, query, margins);
    case ChunkKind::bitmap_pairs:
      return bitmap_pairs_margins(part, header, at, query, margins);
    case ChunkKind::hash_mask:
      return hash_mask_margins(part, header, at, query, margins);
    case ChunkKind::hash_pairs:
      return hash_pairs_margins(part, header, at, query, margins);
    case ChunkKind::matrix_half:
      return matrix_margins<uint16_t>(part, header, at, query, margins);
    case ChunkKind::matrix_float:
      return matrix_margins<float>(part, header, at, query, margins);
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

static int64_t part_children(const float* scores, const int32_t* children, int64_t n, float limit, float* nodes,
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
