// The vector kernels, one table per instruction set. Callers take the table once (active_kernels()) outside their
// loops.
#pragma once

#include <cstdint>

#include "simd/lanes.hpp"

namespace labeltrees::simd {

// Rows of a dense matrix: the vectors of words and of nodes. A row is `stride` floats long, a multiple of 16, and
// starts at a multiple of 64 bytes; so do the vectors beside it.
struct TextKernels {
  // out = sum_i rows[ids[i]]
  void (*sum_rows)(const float* rows, int64_t stride, const int32_t* ids, int64_t n, float* out);
  // rows[ids[i]] += addend for every i; ids may repeat.
  void (*add_to_rows)(float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* addend);
  // out[i] = rows[ids[i]] . x
  void (*dot_rows)(const float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* x, float* out);
  // out[i] = 1 / (1 + exp(-values[i])); both arrays have room for the next multiple of 16 elements.
  void (*sigmoids)(const float* values, int64_t n, float* out);
  // For every i, with row = rows[ids[i]], all different: gradient += step[i] row, then row += step[i] x.
  void (*step_rows)(float* rows, int64_t stride, const int32_t* ids, const float* step, int64_t n, const float* x,
                    float* gradient);
};

// Rows of a chunk that a query has a value for.
struct ChunkRowList {
  int64_t n;
  int32_t* at;      // position of the row's weights
  uint32_t* which;  // which children they are for
  float* value;     // of the row's feature in the query
};

// A query prepared for chunks (search/query.hpp), with scratch memory.
struct ChunkQuery {
  int64_t n;  // features with a value
  const uint32_t* rank;
  const float* value;
  const float* dense;     // the whole row, padded with zeros to a multiple of 16; only for matrix chunks
  ChunkRowList lists[4];  // capacity n + 16 each
};

// The search for the rows of one part that a query has values for. It begins as {0, lists of the query}, goes through
// the levels of the index with one list, and ends with one list for each kind of rows.
struct ChunkRows {
  uint32_t step;
  ChunkRowList lists[4];
};

struct Kernels {
  const char* name;
  // sum_i values[i] * dense[columns[i]]: one sparse row times a dense vector.
  float (*gather_dot)(const int32_t* columns, const float* values, int64_t n, const float* dense);
  // The same for two dense vectors at once, whose values are side by side: pairs[2 * column] and pairs[2 * column + 1].
  void (*gather_dot_pairs)(const int32_t* columns, const float* values, int64_t n, const float* pairs, float* sums);
  // sum_i a[i] * b[i]
  float (*dense_dot)(const float* a, const float* b, int64_t n);
  // The sum of a row's weights for the features of a query. row, query: bitmaps of features, n_words each. weights: one
  // per bit of the row, each the upper half of a float.
  float (*sum_present)(const uint64_t* row, const uint64_t* query, int64_t n_words, const uint16_t* weights);
  // margins[c] = bias[c] + sum_i value[i] * weight of (feature[i], child c), for one part of a chunk. Capacity 256.
  void (*chunk_margins)(const uint8_t* part, const ChunkQuery& query, float* margins);
  // The same in steps: find_rows until it returns false, then sum_rows. Each step prefetches the memory that the next
  // one reads.
  bool (*find_rows)(const uint8_t* part, const ChunkQuery& query, ChunkRows& rows);
  void (*sum_rows)(const uint8_t* part, const ChunkQuery& query, const ChunkRows& rows, float* margins);
  PathScoresTable path_scores;
  // out: labels, the positions of labels among children (those < 0) whose score is at least `limit`, ascending; returns
  // their number. out: nodes, the scores of nodes, with -inf for labels and for scores below the limit, padded with
  // -inf to a multiple of 16.
  int64_t (*select_children)(const float* scores, const int32_t* children, int64_t n, float limit, float* nodes,
                             uint8_t* labels);
  // The position of the highest of n scores, n a multiple of 16; of equal ones that of the smallest child.
  int32_t (*find_best)(const float* scores, const int32_t* children, int64_t n);
  // in: nodes, the scores of n children, n a multiple of 16, -inf for all that are not open nodes. out: scores, a copy
  // of them. out: nodes, their priorities max(score - discounts[child] * (scale - score), the lowest finite number),
  // -inf for a score below `limit`.
  void (*priority_scores)(const int32_t* children, int64_t n, float limit, const float* discounts, float scale,
                          float* nodes, float* scores);
  // out[i] = scores[i] + values[children[i]], for n children; `values` can be indexed with negative children.
  void (*add_child_values)(const float* scores, const int32_t* children, int64_t n, const float* values, float* out);
  // Training of 4, 8 and 16 classifiers at once.
  LaneKernels lanes[3];
  // The text model.
  TextKernels text;
};

// The best table this processor runs, or the one chosen with use_kernels().
const Kernels& active_kernels();
// Names of the tables this processor runs, from the simplest; null-terminated.
const char* const* available_kernels();
// Chooses a table by name for the whole process (tests run every path); false if this processor lacks it.
bool use_kernels(const char* name);

}  // namespace labeltrees::simd
