// The vector kernels, one table per instruction set. Callers take the table once (active_kernels()) outside their
// loops.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace labeltrees {

// A query made ready for chunks: see search_query.hpp.
struct ChunkQuery {
  int64_t n;  // features with a value
  const uint32_t* feature;
  const uint32_t* spread;  // FeatureHash::spread(feature)
  const uint16_t* key;     // FeatureHash::key(spread)
  const float* value;
  const float* dense;  // the whole row, padded with zeros to a multiple of 16; only for matrix chunks
  int64_t n_features;
  struct ChunkHit* hits;  // scratch for 2 n
};
struct ChunkHit {
  const uint8_t* weights;
  uint32_t what;  // mask of the children, or their count
  float value;
};

struct Kernels {
  const char* name;
  // sum_i values[i] * dense[columns[i]]: one sparse row times a dense vector.
  float (*gather_dot)(const int32_t* columns, const float* values, int64_t n, const float* dense);
  // sum_i a[i] * b[i]
  float (*dense_dot)(const float* a, const float* b, int64_t n);
  // margins[c] = bias[c] + sum_i value[i] * weight of (feature[i], child c) in one part of a chunk; margins has room
  // for the children rounded up to a multiple of 16, and for 256 where a row's children are listed.
  void (*chunk_margins)(const uint8_t* part, const ChunkQuery& query, float* margins);
  // scores[c] = base + log of the probability of margin c, never above base, NaN as -inf; n a multiple of 16.
  // power > 0: -max(0, 1 - margin)^power. power 0: log sigmoid(margin).
  void (*path_scores)(const float* margins, int64_t n, float base, float power, float* scores);
  // Training: 4, 8 and 16 classifiers side by side.
  LaneKernels lanes[3];
};

// The best table this processor runs, or the one chosen with use_kernels().
const Kernels& active_kernels();
// Names of the tables this processor runs, from the plainest; null-terminated.
const char* const* available_kernels();
// Chooses a table by name for the whole process (tests run every path); false if this processor lacks it.
bool use_kernels(const char* name);

}  // namespace labeltrees
