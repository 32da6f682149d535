// The chunks of one tree, opened and checked by node.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "chunk/format.hpp"
#include "simd/lanes.hpp"

namespace labeltrees::search {

// A chunk from a file that is damaged; becomes FileFormatError in Python.
struct DamagedChunk : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class SearchStore {
 public:
  // link: how margins become scores. checked: the chunks were made in this process, or have been verified. source: the
  // file, for messages.
  SearchStore(const chunk::ChunkLimits& limits, const int64_t* offsets, const int32_t* feature_rank,
              const simd::ScoreLink& link, bool checked, std::string source);

  // The first part of the node's chunk. Chunks from a file are checked on first use.
  const uint8_t* open(int32_t node) const {
    if (seen_ && !(seen_[node >> 6].load(std::memory_order_acquire) >> (node & 63) & 1)) check(node);
    return limits_.bytes + offsets_[node];
  }
  // Prefetches a chunk's header, children, biases and the start of its index.
  void prefetch_start(int32_t node) const {
    auto start = reinterpret_cast<uintptr_t>(limits_.bytes) + static_cast<uintptr_t>(offsets_[node]);
    for (int line = 0; line < 8; ++line) __builtin_prefetch(reinterpret_cast<const void*>(start + chunk::kLine * line));
  }
  void check_all() const;

  // Per node: the log of the highest score that a label below it can have relative to the node, for a query of length 1
  // without negative values; null if unknown.
  const float* ceilings() const { return ceilings_; }
  void set_ceilings(const float* ceilings) { ceilings_ = ceilings; }

  int32_t n_nodes() const { return limits_.n_nodes; }
  // Whether the chunks fit into the cache of most processors, so that a search rarely waits for memory.
  bool is_small() const { return limits_.n_bytes <= int64_t{32} << 20; }
  const simd::ScoreLink& link() const { return link_; }
  const std::string& source() const { return source_; }
  const int32_t* feature_rank() const { return feature_rank_; }

 private:
  void check(int32_t node) const;

  chunk::ChunkLimits limits_;
  const int64_t* offsets_;
  const int32_t* feature_rank_;
  simd::ScoreLink link_;
  const float* ceilings_ = nullptr;
  std::string source_;
  std::unique_ptr<std::atomic<uint64_t>[]> seen_;  // one bit per node; null if all chunks are known to be sound
};

inline const chunk::ChunkHeader& header_of(const uint8_t* part) {
  return *reinterpret_cast<const chunk::ChunkHeader*>(part);
}
inline const int32_t* children_of(const uint8_t* part) { return reinterpret_cast<const int32_t*>(part + chunk::kLine); }
inline const uint8_t* next_part(const uint8_t* part) {
  return header_of(part).more ? part + chunk::kLine * int64_t{header_of(part).lines} : nullptr;
}

}  // namespace labeltrees::search
