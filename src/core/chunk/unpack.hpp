// Unpacks chunks into classifiers, one sparse row each.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"

namespace labeltrees::chunk {

// The classifiers of some nodes, in their order: row e has the weights from indptr[e] to indptr[e + 1].
struct UnpackedRows {
  std::vector<int64_t> indptr;
  std::vector<int32_t> features;  // rising within a row
  std::vector<float> values;
  std::vector<float> bias;
};

// The chunks must be sound (check_chunk) and sparse. child_ptr: of the whole tree.
UnpackedRows unpack_chunks(const uint8_t* chunks, const int64_t* offsets, const int64_t* child_ptr,
                           const int32_t* feature_rank, int64_t n_features, const int32_t* nodes, int64_t n_nodes,
                           int n_threads, Job& job);

}  // namespace labeltrees::chunk
