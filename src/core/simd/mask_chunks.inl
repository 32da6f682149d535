// Part of kernels.inl: margins of chunks with at most 16 children, whose rows have a mask of the children with a
// weight. The sums of all children stay in registers.

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
#elif !defined(LABELTREES_NEON)  // that one is in neon_primitives.inl
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
static void mask_margins(const uint8_t* part, const chunk::ChunkHeader& header, const ChunkQuery& query,
                         float* margins) {
  chunk::ChunkSections at = chunk::sections_of(header);
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
