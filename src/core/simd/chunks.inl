// Evaluating one part of a chunk.
//
// The margins of sparse chunks are computed in loops over all features of the query: look them up, then add the rows
// that were found. The loads of a loop do not depend on each other, so many cache misses overlap. Hits are collected
// without a branch: half of the lookups hit, and a mispredicted branch costs more than a lookup.
namespace labeltrees::simd::LABELTREES_ISA {

static inline const float* bias_of(const uint8_t* part, const chunk::ChunkHeader& header) {
  return reinterpret_cast<const float*>(part + chunk::kLine + 4 * header.n_children);
}

template <class Rows>
static inline void find_rows(const uint8_t* index, const chunk::ChunkHeader& header, const ChunkQuery& query,
                             Rows& rows) {
  if (header.n_rows == 0) return;
  if (header.n_levels == 1) return find_rows_in<1>(index, header, query, rows);
  return header.n_levels == 2 ? find_rows_in<2>(index, header, query, rows)
                              : find_rows_in<3>(index, header, query, rows);
}

// At most 16 children: the sums of all of them stay in registers.
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

// A full matrix, without an index.
template <class Weight>
static void matrix_margins(const uint8_t* part, const chunk::ChunkHeader& header, const ChunkQuery& query,
                           float* margins) {
  const Weight* matrix = reinterpret_cast<const Weight*>(part + chunk::sections_of(header).dense);
  const float* bias = bias_of(part, header);
  int64_t n = chunk::round_up(header.n_features, 16);
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
  for (; child < chunk::round_up(header.n_children, 16); ++child) margins[child] = 0.0f;
}

static inline void ask_for_rows(const uint8_t* entries, const ChunkRowList& rows) {
  for (int64_t i = 0; i < rows.n; ++i) __builtin_prefetch(entries + 2 * int64_t{rows.at[i]});
}

// More than 16 children.
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

}  // namespace labeltrees::simd::LABELTREES_ISA
