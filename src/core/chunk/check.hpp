// Whether a chunk's bytes can be searched: what they claim stays inside them. Chunks that come from a file go through
// this before they are used for the first time.
#pragma once

#include <cstdint>

namespace labeltrees {

struct ChunkLimits {
  const uint8_t* bytes;
  int64_t n_bytes;  // the tail included
  int64_t n_features;
  int32_t n_nodes;
  int32_t n_labels;
  bool matrices;  // every chunk is a matrix, or none is
};

// Returns null if all parts of the node's chunk at `offset` are sound, else a message that says what is wrong.
const char* check_chunk(const ChunkLimits& limits, int32_t node, int64_t offset);

}  // namespace labeltrees
