// Packs a tree's classifiers, one sparse row each, into chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/platform.hpp"
#include "common/threads.hpp"

namespace labeltrees::chunk {

// The classifiers by edge: edge e, the e-th of `children`, has weights values[indptr[e] .. indptr[e+1]] on features.
struct EdgeWeights {
  const int64_t* indptr;
  const int32_t* features;  // below n_features, each at most once per edge
  const float* values;
  const float* bias;
};

struct PackOptions {
  // One more level makes the index smaller and each lookup slower. It is used if it saves more than this many bytes per
  // row.
  double level_bytes = 1.0;
  // In parts with more than 16 children, a row that has weights for at least this share of them is stored full.
  double dense_fill = 0.5;
};

struct PackedChunks {
  HugePageMemory memory;
  int64_t size = 0;              // bytes, the tail included
  std::vector<int64_t> offsets;  // of each node's chunk
};

// Stores chunks by falling node_mass (ties: smaller node first), because searches visit heavy nodes most often.
// feature_rank: the rank of each feature (format.hpp). Throws std::invalid_argument for weights that are not finite.
PackedChunks pack_chunks(const int64_t* child_ptr, const int32_t* children, int32_t n_nodes, const EdgeWeights& weights,
                         int64_t n_features, const int32_t* feature_rank, const double* node_mass,
                         const PackOptions& options, int n_threads, Job& job);

// The same for data without zeros: matrix has one row of n_features values per edge; half: use half precision.
PackedChunks pack_matrix_chunks(const int64_t* child_ptr, const int32_t* children, int32_t n_nodes, const float* matrix,
                                const float* bias, int64_t n_features, const double* node_mass, bool half,
                                int n_threads, Job& job);

}  // namespace labeltrees::chunk
