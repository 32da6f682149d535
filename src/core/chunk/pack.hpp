// From a tree's classifiers, one sparse row each, to chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/platform.hpp"
#include "common/threads.hpp"

namespace labeltrees::chunk {

// The classifiers by edge: edge e, the e-th of `children`, has weights values[indptr[e] .. indptr[e+1]] on features.
struct EdgeWeights {
  const int64_t* indptr;
  const int32_t* features;  // below n_features, each at most once an edge
  const float* values;
  const float* bias;
};

struct PackOptions {
  // A level more makes the index smaller and each lookup slower: it is taken if it saves this many bytes a row.
  double level_bytes = 1.0;
  // Of more than 16 possible children a row is stored full from this share of children on.
  double dense_fill = 0.5;
};

struct PackedChunks {
  HugePageMemory memory;
  int64_t size = 0;              // bytes, the tail included
  std::vector<int64_t> offsets;  // of each node's chunk
};

// Chunks in falling order of node_mass (ties: smaller node), the order in which searches visit them most often.
// feature_rank: each feature's place in the chunks. Throws std::invalid_argument for weights that are not finite.
PackedChunks pack_chunks(const int64_t* child_ptr, const int32_t* children, int32_t n_nodes, const EdgeWeights& weights,
                         int64_t n_features, const int32_t* feature_rank, const double* node_mass,
                         const PackOptions& options, int n_threads, Job& job);

// The same for data without zeros: matrix has a row of n_features values an edge; half: stored in half precision.
PackedChunks pack_matrix_chunks(const int64_t* child_ptr, const int32_t* children, int32_t n_nodes, const float* matrix,
                                const float* bias, int64_t n_features, const double* node_mass, bool half,
                                int n_threads, Job& job);

}  // namespace labeltrees::chunk
