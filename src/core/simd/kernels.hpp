// The vector kernels, one table per instruction set. Callers take the table once (active_kernels()) outside their
// loops.
#pragma once

#include <cstdint>

#include "simd/lanes.hpp"
#include "simd/text_kernels.hpp"

namespace labeltrees {

// Some of the rows that a query has in a chunk.
struct ChunkRowList {
  int64_t n;
  int32_t* at;      // where the row's weights lie
  uint32_t* which;  // which children they are for
  float* value;     // of the row's feature in the query
};

// A query made ready for chunks (search_query.hpp), and room to work in.
struct ChunkQuery {
  int64_t n;  // features with a value
  const uint32_t* rank;
  const float* value;
  const float* dense;     // the whole row, padded with zeros to a multiple of 16; only for matrix chunks
  ChunkRowList lists[4];  // room for n + 16 each
};

struct Kernels {
  const char* name;
  // sum_i values[i] * dense[columns[i]]: one sparse row times a dense vector.
  float (*gather_dot)(const int32_t* columns, const float* values, int64_t n, const float* dense);
  // sum_i a[i] * b[i]
  float (*dense_dot)(const float* a, const float* b, int64_t n);
  // margins[c] = bias[c] + sum_i value[i] * weight of (feature[i], child c), for one part of a chunk; room for 256.
  void (*chunk_margins)(const uint8_t* part, const ChunkQuery& query, float* margins);
  // scores[c] = base + log of the probability of margin c, never above base, and the lowest finite number where that is
  // lower still or NaN; n a multiple of 16.
  // power > 0: -max(0, 1 - margin)^power. power 0: log sigmoid(margin).
  void (*path_scores)(const float* margins, int64_t n, float base, float power, float* scores);
  // The places of labels among children (those < 0) whose score is at least `limit`, ascending; returns how many. The
  // scores of nodes go to `nodes`, with -inf in the place of labels and of scores below the limit, up to the next
  // multiple of 16 above n.
  int64_t (*split_children)(const float* scores, const int32_t* children, int64_t n, float limit, float* nodes,
                            uint8_t* labels);
  // The place of the highest of n scores, n a multiple of 16; of equal ones that of the smallest child.
  int32_t (*find_best)(const float* scores, const int32_t* children, int64_t n);
  // nodes[i] = max(score - discounts[child] * (scale - score), the lowest finite number) for a score of at least
  // `limit`, -inf for the others, and the scores themselves to `scores`; n a multiple of 16. in: -inf for what is no
  // open node.
  void (*discount_scores)(const int32_t* children, int64_t n, float limit, const float* discounts, float scale,
                          float* nodes, float* scores);
  // Training: 4, 8 and 16 classifiers side by side.
  LaneKernels lanes[3];
  // The text model.
  TextKernels text;
};

// The best table this processor runs, or the one chosen with use_kernels().
const Kernels& active_kernels();
// Names of the tables this processor runs, from the plainest; null-terminated.
const char* const* available_kernels();
// Chooses a table by name for the whole process (tests run every path); false if this processor lacks it.
bool use_kernels(const char* name);

}  // namespace labeltrees
