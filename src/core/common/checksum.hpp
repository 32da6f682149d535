// XXH64 with seed 0, from its public specification: a checksum of files at memory speed.
#pragma once

#include <cstdint>
#include <cstring>

namespace labeltrees {

inline uint64_t xxh64(const uint8_t* at, int64_t n) {
  constexpr uint64_t p1 = 0x9E3779B185EBCA87u, p2 = 0xC2B2AE3D27D4EB4Fu, p3 = 0x165667B19E3779F9u,
                     p4 = 0x85EBCA77C2B2AE63u, p5 = 0x27D4EB2F165667C5u;
  auto rotate = [](uint64_t x, int by) { return x << by | x >> (64 - by); };
  auto read8 = [](const uint8_t* from) {
    uint64_t value;
    std::memcpy(&value, from, 8);
    return value;
  };
  auto round = [&](uint64_t lane, uint64_t input) { return rotate(lane + input * p2, 31) * p1; };
  const uint8_t* end = at + n;
  uint64_t hash = p5;
  if (n >= 32) {
    uint64_t a = p1 + p2, b = p2, c = 0, d = uint64_t{0} - p1;
    for (; end - at >= 32; at += 32) {
      a = round(a, read8(at));
      b = round(b, read8(at + 8));
      c = round(c, read8(at + 16));
      d = round(d, read8(at + 24));
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    for (uint64_t lane : {a, b, c, d}) hash = (hash ^ round(0, lane)) * p1 + p4;
  }
  hash += static_cast<uint64_t>(n);
  for (; end - at >= 8; at += 8) hash = rotate(hash ^ round(0, read8(at)), 27) * p1 + p4;
  if (end - at >= 4) {
    uint32_t value;
    std::memcpy(&value, at, 4);
    hash = rotate(hash ^ value * p1, 23) * p2 + p3;
    at += 4;
  }
  for (; at < end; ++at) hash = rotate(hash ^ *at * p5, 11) * p1;
  hash = (hash ^ hash >> 33) * p2;
  hash = (hash ^ hash >> 29) * p3;
  return hash ^ hash >> 32;
}

}  // namespace labeltrees
