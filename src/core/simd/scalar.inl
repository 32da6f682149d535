// The primitives in plain C++. An instruction set takes those for which it has nothing better: using scalar::NAME.
// Included after half_of is defined.
namespace labeltrees::simd::LABELTREES_ISA::scalar {

static inline float half_at(const uint8_t* at) {
  uint16_t half;
  __builtin_memcpy(&half, at, 2);
  return half_of(half);
}

template <int lanes>
static inline __attribute__((always_inline)) uint32_t bits_of(const typename Vec<lanes>::Ints& mask) {
  uint32_t bits = 0;
  int32_t values[lanes];  // GCC 12 reads mask[lane] wrongly under its sanitizers
  __builtin_memcpy(values, &mask, sizeof values);
  for (int lane = 0; lane < lanes; ++lane) bits |= (values[lane] != 0 ? 1u : 0u) << lane;
  return bits;
}

[[maybe_unused]] static float gather_dot(const int32_t* columns, const float* values, int64_t n, const float* dense) {
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
}

template <class Slot>
static inline void list_row(uint32_t row, float value, MaskRows<Slot>& rows) {
  Slot slot;
  __builtin_memcpy(&slot, rows.slots + sizeof(Slot) * row, sizeof(Slot));
  uint32_t mask = static_cast<uint32_t>(slot) & 0xFFFF;
  auto start = static_cast<int64_t>(slot >> (4 * sizeof(Slot))),
       here = int64_t{row} * MaskRows<Slot>::kUnits + rows.first_slot;
  // Chosen by arithmetic and not by a comparison, which compilers turn into a branch.
  int64_t single = (static_cast<int64_t>(mask & (mask - 1)) - 1) >> 63;  // all bits or none
  rows.list.at[rows.list.n] = static_cast<int32_t>(start + ((here - start) & single));
  rows.list.which[rows.list.n] = mask;
  rows.list.value[rows.list.n] = value;
  ++rows.list.n;
}

static inline void list_row(uint32_t row, float value, PairRows& rows) {
  uint32_t slot;
  __builtin_memcpy(&slot, rows.slots + 4 * int64_t{row}, 4);
  uint32_t count = slot & 0xFF, is_single = count == 1, is_full = count == chunk::kFullRow,
           is_masked = count == chunk::kMaskRow;
  rows.single.at[rows.single.n] = static_cast<int32_t>(slot >> 8 & 0xFF);
  rows.single.value[rows.single.n] = half_of(static_cast<uint16_t>(slot >> 16)) * value;
  rows.full.at[rows.full.n] = rows.masked.at[rows.masked.n] = rows.listed.at[rows.listed.n] =
      static_cast<int32_t>(slot >> 8);
  rows.full.value[rows.full.n] = rows.masked.value[rows.masked.n] = rows.listed.value[rows.listed.n] = value;
  rows.listed.which[rows.listed.n] = count;
  rows.single.n += is_single;
  rows.full.n += is_full;
  rows.masked.n += is_masked;
  rows.listed.n += 1 & ~(is_single | is_full | is_masked);
}

// The first output list may be the input list: writing never gets ahead of reading.
template <class Rows>
static inline void list_rows(const ChunkRowList& waiting, Rows& rows) {
  const int64_t n = waiting.n;
  for (int64_t i = 0; i < n; ++i) list_row(static_cast<uint32_t>(waiting.at[i]), waiting.value[i], rows);
}

// No branch on whether a feature is found: half of them are, and a mispredicted branch costs more than the lookup.
[[maybe_unused]] static void find_in_level(const uint8_t* words, uint32_t shift, ChunkRowList& list) {
  int64_t n = 0;
  for (int64_t i = 0; i < list.n; ++i) {
    uint64_t word;
    __builtin_memcpy(&word, words + 8 * int64_t{list.at[i]}, 8);
    const uint32_t rank = list.which[i], bit = rank >> shift & 31, bits = static_cast<uint32_t>(word);
    list.at[n] = static_cast<int32_t>(static_cast<uint32_t>(word >> 32) +
                                      static_cast<uint32_t>(__builtin_popcount(bits & ((1u << bit) - 1))));
    list.which[n] = rank;
    list.value[n] = list.value[i];
    n += bits >> bit & 1;
  }
  list.n = n;
}

template <int levels>
[[maybe_unused]] static void find_in_index(const uint8_t* const* words, const ChunkQuery& query, ChunkRowList& list) {
  list.n = 0;
  for (int64_t i = 0; i < query.n; ++i) {
    const uint32_t rank = query.rank[i];
    uint32_t place = rank >> (5 * levels), found = 1;
    for (int level = 0; level < levels; ++level) {
      uint64_t word;
      __builtin_memcpy(&word, words[level] + 8 * int64_t{place}, 8);
      const uint32_t bit = rank >> (5 * (levels - 1 - level)) & 31, bits = static_cast<uint32_t>(word);
      found &= bits >> bit;
      // Where nothing is found, place 0, which always exists.
      place =
          (static_cast<uint32_t>(word >> 32) + static_cast<uint32_t>(__builtin_popcount(bits & ((1u << bit) - 1)))) &
          (0 - found);
    }
    list.at[list.n] = static_cast<int32_t>(place);
    list.value[list.n] = query.value[i];
    list.n += found;
  }
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

[[maybe_unused]] static void add_full(const uint8_t* first, const ChunkRowList& rows, int n_padded, float* margins) {
  for (int64_t i = 0; i < rows.n; ++i)
    for (int child = 0; child < n_padded; ++child)
      margins[child] += half_at(first + 2 * (int64_t{rows.at[i]} * n_padded + child)) * rows.value[i];
}

[[maybe_unused]] static void add_masked(const uint8_t* entries, const ChunkRowList& rows, int n_masks, float* margins) {
  each_mask_byte(entries, rows, n_masks, [&](const uint8_t* weights, uint32_t mask, float value, int child) {
    for (; mask; mask &= mask - 1, weights += 2) margins[child + __builtin_ctz(mask)] += half_at(weights) * value;
  });
}

[[maybe_unused]] static void add_listed(const uint8_t* entries, const ChunkRowList& rows, float* margins) {
  for (int64_t i = 0; i < rows.n; ++i) {
    int count = static_cast<int>(rows.which[i]);
    const uint8_t *weights = entries + 2 * int64_t{rows.at[i]}, *children = weights + 2 * count;
    for (int pair = 0; pair < count; ++pair) margins[children[pair]] += half_at(weights + 2 * pair) * rows.value[i];
  }
}

[[maybe_unused]] static int64_t select_children(const float* scores, const int32_t* children, int64_t n, float limit,
                                                float* nodes, uint8_t* labels) {
  int64_t n_labels = 0;
  for (int64_t i = 0; i < n; ++i) {
    bool enough = scores[i] >= limit, label = children[i] < 0;
    nodes[i] = enough && !label ? scores[i] : -__builtin_inff();
    labels[n_labels] = static_cast<uint8_t>(i);
    n_labels += enough && label;
  }
  for (int64_t i = n; i < chunk::round_up(n, 16); ++i) nodes[i] = -__builtin_inff();
  return n_labels;
}

[[maybe_unused]] static int32_t find_best(const float* scores, const int32_t* children, int64_t n) {
  int32_t best_at = 0;
  for (int64_t i = 1; i < n; ++i)
    if (scores[i] > scores[best_at] || (scores[i] == scores[best_at] && children[i] < children[best_at]))
      best_at = static_cast<int32_t>(i);
  return best_at;
}

[[maybe_unused]] static void priority_scores(const int32_t* children, int64_t n, float limit, const float* discounts,
                                             float scale, float* nodes, float* scores) {
  for (int64_t i = 0; i < n; ++i) {
    float score = nodes[i];
    scores[i] = score;
    if (score == -__builtin_inff()) continue;
    float priority = score >= limit ? score - discounts[children[i]] * (scale - score) : -__builtin_inff();
    nodes[i] = score >= limit && priority < -__FLT_MAX__ ? -__FLT_MAX__ : priority;
  }
}

[[maybe_unused]] static void add_child_values(const float* scores, const int32_t* children, int64_t n,
                                              const float* values, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = scores[i] + values[children[i]];
}

}  // namespace labeltrees::simd::LABELTREES_ISA::scalar
