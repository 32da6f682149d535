// Part of kernels.inl: the weighted sums of one part of a chunk, for every layout of chunk_format.hpp.
//
// Each goes in steps over the query's features: look all of them up, gather the hits without branching on them (half of
// the lookups hit, and a wrong guess costs more than the lookup), then add. The steps are loops of independent loads,
// so the processor has dozens of cache misses under way at once.

// ---- rows told by a mask of at most 16 children: the sums stay in registers -----------------------------------------

#if defined(__AVX512F__)
struct MaskSums {
  __m512 sums;
  void start(const float* bias, int n_children) {
    sums = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n_children) - 1), bias);
  }
  void add(const uint8_t* weights, uint32_t mask, float value) {
    __m512 row = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
    sums = _mm512_fmadd_ps(_mm512_maskz_expand_ps(static_cast<__mmask16>(mask), row), _mm512_set1_ps(value), sums);
  }
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
  void add(const uint8_t* weights, uint32_t mask, float value) {
    __m256 factor = _mm256_set1_ps(value);
    low = _mm256_fmadd_ps(expand8(weights, mask & 0xFF), factor, low);
    high = _mm256_fmadd_ps(expand8(weights + 2 * __builtin_popcount(mask & 0xFF), mask >> 8), factor, high);
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
  void add(const uint8_t* weights, uint32_t mask, float value) {
    for (; mask; mask &= mask - 1, weights += 2) sums[__builtin_ctz(mask)] += half_at(weights) * value;
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
        const __m256i* row = reinterpret_cast<const __m256i*>(hits[hit].weights + 2 * first);
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
        const __m256i* row = reinterpret_cast<const __m256i*>(hits[hit].weights + 2 * first) + vector;
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
      const __m128i* row = reinterpret_cast<const __m128i*>(hits[hit].weights + 2 * first);
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
      margins[child] += half_at(hits[hit].weights + 2 * child) * hits[hit].value;
#endif
}

// margins[child] += value * weight for the pairs of each hit; what: their count | bytes from weights to children << 8.
static void add_pairs(const ChunkHit* hits, int64_t n_hits, float* margins) {
  for (int64_t hit = 0; hit < n_hits; ++hit) {
    const uint8_t* weights = hits[hit].weights;
    const uint8_t* children = weights + (hits[hit].what >> 8);
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

// Calls found(row, value) in the order of the features.
static int64_t find_in_bitmap(const uint64_t* words, const ChunkQuery& query, ChunkHit* hits) {
  int64_t n_hits = 0;
  for (int64_t i = 0; i < query.n; ++i) {
    uint32_t feature = query.feature[i], bit = feature & 31;
    uint64_t word = words[feature >> 5];
    uint32_t before = static_cast<uint32_t>(word) & ((1u << bit) - 1);
    hits[n_hits].what = static_cast<uint32_t>(word >> 32) + __builtin_popcount(before);
    hits[n_hits].value = query.value[i];
    n_hits += (word >> bit) & 1;
  }
  return n_hits;
}

template <class Slot>
static void bitmap_mask_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                                const ChunkQuery& query, float* margins) {
  const Slot* slots = reinterpret_cast<const Slot*>(part + at.slots);
  int64_t n_hits = find_in_bitmap(reinterpret_cast<const uint64_t*>(part + at.index), query, query.hits);
  MaskSums sums;
  sums.start(reinterpret_cast<const float*>(part + kLine + 4 * header.n_children), header.n_children);
  for (int64_t hit = 0; hit < n_hits; ++hit) {
    Slot slot = slots[query.hits[hit].what];
    sums.add(part + at.entries + 2 * static_cast<int64_t>(slot >> (4 * sizeof(Slot))),
             static_cast<uint32_t>(slot) & 0xFFFF, query.hits[hit].value);
  }
  sums.finish(margins);
}

static void bitmap_pairs_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                                 const ChunkQuery& query, float* margins) {
  const uint32_t* slots = reinterpret_cast<const uint32_t*>(part + at.slots);
  int64_t n_hits = find_in_bitmap(reinterpret_cast<const uint64_t*>(part + at.index), query, query.hits);
  ChunkHit* thin = query.hits + query.n;
  int64_t n_dense = 0, n_thin = 0;
  int n_padded = static_cast<int>(round_up(header.n_children, 16));
  for (int64_t hit = 0; hit < n_hits; ++hit) {  // the list of full rows overwrites what has been read
    uint32_t slot = slots[query.hits[hit].what];
    float value = query.hits[hit].value;
    bool dense = slot & kDenseFlag;
    query.hits[n_dense] = {part + at.dense + 2 * int64_t{slot >> 8} * n_padded, 0, value};
    thin[n_thin] = {part + at.entries + 2 * int64_t{slot >> 8}, (slot & 0x7F) * 0x201, value};  // children follow
    n_dense += dense;
    n_thin += !dense;
  }
  start_margins(reinterpret_cast<const float*>(part + kLine + 4 * header.n_children), header.n_children, margins);
  add_dense(query.hits, n_dense, n_padded, margins);
  add_pairs(thin, n_thin, margins);
}

// ---- index: buckets -------------------------------------------------------------------------------------------------

// The place of `key` among the first `count` of a bucket's 16 bit keys; true if it is there.
static inline bool find_key(const uint8_t* keys, uint32_t count, uint16_t key, uint32_t& place) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
  uint32_t equal = _mm256_cmpeq_epi16_mask(all, _mm256_set1_epi16(static_cast<short>(key))) & ((1u << count) - 1);
  place = __builtin_ctz(equal | 0x10000u);
  return equal != 0;
#elif defined(__AVX2__)
  __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
  uint32_t equal =
      static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi16(all, _mm256_set1_epi16(static_cast<short>(key)))));
  equal &= static_cast<uint32_t>((uint64_t{1} << (2 * count)) - 1);
  place = static_cast<uint32_t>(__builtin_ctzll(equal | uint64_t{1} << 32)) / 2;
  return equal != 0;
#else
  for (place = 0; place < count; ++place) {
    uint16_t other;
    __builtin_memcpy(&other, keys + 2 * place, 2);
    if (other == key) return true;
  }
  return false;
#endif
}

// Bits set in the first `place` of up to 16 masks of 16 bits.
static inline uint32_t bits_before(const uint8_t* masks, uint32_t place) {
  uint32_t bits = 0;
  for (uint32_t word = 0; word < 4; ++word) {
    uint64_t four;
    __builtin_memcpy(&four, masks + 8 * word, 8);
    int32_t left = static_cast<int32_t>(place) - static_cast<int32_t>(4 * word);
    uint64_t keep = left >= 4 ? ~uint64_t{0} : left <= 0 ? 0 : (uint64_t{1} << (16 * left)) - 1;
    bits += static_cast<uint32_t>(__builtin_popcountll(four & keep));
  }
  return bits;
}

static void hash_mask_margins(const uint8_t* part, const ChunkHeader& header, const ChunkSections& at,
                              const ChunkQuery& query, float* margins) {
  const uint32_t* buckets = reinterpret_cast<const uint32_t*>(part + at.index);
  const uint8_t* entries = part + at.entries;
  int64_t n_hits = 0;
  for (int64_t i = 0; i < query.n; ++i) {
    uint32_t bucket = buckets[bucket_of(query.spread[i], header.n_index)], count = bucket & 31, place;
    const uint8_t* keys = entries + 2 * int64_t{bucket >> 5};
    bool found = find_key(keys, count, query.key[i], place);
    query.hits[n_hits] = {keys, count | place << 8, query.value[i]};
    n_hits += found;
  }
  MaskSums sums;
  sums.start(reinterpret_cast<const float*>(part + kLine + 4 * header.n_children), header.n_children);
  for (int64_t hit = 0; hit < n_hits; ++hit) {
    uint32_t count = query.hits[hit].what & 0xFF, place = query.hits[hit].what >> 8;
    const uint8_t* masks = query.hits[hit].weights + 2 * count;
    uint16_t mask;
    __builtin_memcpy(&mask, masks + 2 * place, 2);
    sums.add(masks + 2 * count + 2 * bits_before(masks, place), mask, query.hits[hit].value);
  }
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
  const uint32_t* buckets = reinterpret_cast<const uint32_t*>(part + at.index);
  const uint8_t* entries = part + at.entries;
  int64_t n_hits = 0;
  for (int64_t i = 0; i < query.n; ++i) {
    uint32_t bucket = buckets[bucket_of(query.spread[i], header.n_index)], count = bucket & 31, place;
    const uint8_t* keys = entries + 2 * int64_t{bucket >> 5};
    bool found = find_key(keys, count, query.key[i], place);
    query.hits[n_hits] = {keys, count | place << 8, query.value[i]};
    n_hits += found;
  }
  ChunkHit* thin = query.hits + query.n;
  int64_t n_dense = 0, n_thin = 0;
  int n_padded = static_cast<int>(round_up(header.n_children, 16));
  for (int64_t hit = 0; hit < n_hits; ++hit) {
    uint32_t count = query.hits[hit].what & 0xFF, place = query.hits[hit].what >> 8;
    const uint8_t* counts = query.hits[hit].weights + 2 * count;
    float value = query.hits[hit].value;
    uint32_t before, total;
    pairs_before(counts, place, count, before, total);
    const uint8_t* weights = counts + round_up(count, 2) + 2 * before;
    bool dense = counts[place] & kDenseFlag;
    uint32_t number;
    __builtin_memcpy(&number, weights, 4);
    query.hits[n_dense] = {part + at.dense + 2 * int64_t{dense ? number : 0} * n_padded, 0, value};
    thin[n_thin] = {weights, (counts[place] & 0x7Fu) | (2 * total - before) << 8, value};
    n_dense += dense;
    n_thin += !dense;
  }
  start_margins(reinterpret_cast<const float*>(part + kLine + 4 * header.n_children), header.n_children, margins);
  add_dense(query.hits, n_dense, n_padded, margins);
  add_pairs(thin, n_thin, margins);
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
  const float* bias = reinterpret_cast<const float*>(part + kLine + 4 * header.n_children);
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
  const float lowest = -__builtin_inff();
  if (power == 3.0f || power == 2.0f) {
    for (int64_t i = 0; i < n; ++i) {
      float loss = 1.0f - margins[i];
      loss = loss < 0.0f ? 0.0f : loss;
      loss = loss * loss * (power == 3.0f ? loss : 1.0f);
      float score = base - loss;
      scores[i] = score <= base ? score : lowest;
    }
  } else if (power > 0.0f) {
    for (int64_t i = 0; i < n; ++i) {
      float loss = 1.0f - margins[i];
      float score = base - powf(loss < 0.0f ? 0.0f : loss, power);
      scores[i] = score <= base ? score : lowest;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      float score = base + (margins[i] < 0.0f ? margins[i] : 0.0f) - log1pf(expf(-fabsf(margins[i])));
      scores[i] = score <= base ? score : lowest;
    }
  }
}
