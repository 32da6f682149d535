// Appends one part of a chunk to a buffer.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "chunk/format.hpp"

namespace labeltrees {

// Its constructor writes the header, the children and the biases; the other sections are filled through its pointers.
class PartWriter {
 public:
  PartWriter(std::vector<uint8_t>& buffer, ChunkHeader header, const int32_t* children, const float* bias)
      : buffer_(buffer), start_(buffer.size()), at_(sections_of(header)) {
    header.lines = static_cast<uint32_t>(round_up(at_.end, kLine) / kLine);
    buffer.resize(start_ + static_cast<size_t>(header.lines) * kLine);
    std::memcpy(at(0), &header, sizeof header);
    std::memcpy(at(kLine), children, 4 * static_cast<size_t>(header.n_children));
    std::memcpy(at(kLine + 4 * header.n_children), bias, 4 * static_cast<size_t>(header.n_children));
  }

  uint64_t* index() { return reinterpret_cast<uint64_t*>(at(at_.index)); }
  template <class T>
  T* slots() {
    return reinterpret_cast<T*>(at(at_.slots));
  }
  uint8_t* entries() { return at(at_.entries); }
  uint8_t* dense() { return at(at_.dense); }

 private:
  uint8_t* at(int64_t offset) { return buffer_.data() + start_ + offset; }

  std::vector<uint8_t>& buffer_;
  size_t start_;
  ChunkSections at_;
};

}  // namespace labeltrees
