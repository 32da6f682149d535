// The hash functions of the core, one per algorithm and purpose.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace labeltrees {

inline uint64_t read_word(const uint8_t* from) {
  uint64_t value;
  std::memcpy(&value, from, 8);
  return value;
}

// XXH64 with seed 0, from its public specification: the checksum of saved files and the buckets of hashed tf-idf terms.
// The bytes come in pieces, all but the last of which have a multiple of kStripe bytes.
class Xxh64 {
 public:
  static constexpr int64_t kStripe = 32;

  void add(const uint8_t* at, int64_t n) {
    n_ += n;
    auto [a, b, c, d] = lanes_;
    for (const uint8_t* end = at + n; at < end; at += kStripe) {
      a = round(a, read_word(at));
      b = round(b, read_word(at + 8));
      c = round(c, read_word(at + 16));
      d = round(d, read_word(at + 24));
    }
    lanes_ = {a, b, c, d};
  }

  // The hash of all pieces, with the last one, of any size.
  uint64_t finish(const uint8_t* at, int64_t n) {
    const int64_t whole = n / kStripe * kStripe;
    add(at, whole);
    const uint8_t* end = at + n;
    at += whole;
    uint64_t hash = kPrime5;
    if (n_ > 0) {
      const auto [a, b, c, d] = lanes_;
      hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
      for (uint64_t lane : {a, b, c, d}) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
    }
    hash += static_cast<uint64_t>(n_ + (end - at));
    for (; end - at >= 8; at += 8) hash = rotate(hash ^ round(0, read_word(at)), 27) * kPrime1 + kPrime4;
    if (end - at >= 4) {
      uint32_t value;
      std::memcpy(&value, at, 4);
      hash = rotate(hash ^ value * kPrime1, 23) * kPrime2 + kPrime3;
      at += 4;
    }
    for (; at < end; ++at) hash = rotate(hash ^ *at * kPrime5, 11) * kPrime1;
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
  }

 private:
  static constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u, kPrime2 = 0xC2B2AE3D27D4EB4Fu, kPrime3 = 0x165667B19E3779F9u,
                            kPrime4 = 0x85EBCA77C2B2AE63u, kPrime5 = 0x27D4EB2F165667C5u;
  static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }
  static uint64_t round(uint64_t lane, uint64_t input) { return rotate(lane + input * kPrime2, 31) * kPrime1; }

  std::array<uint64_t, 4> lanes_ = {kPrime1 + kPrime2, kPrime2, 0, uint64_t{0} - kPrime1};
  int64_t n_ = 0;
};

inline uint64_t xxh64(const uint8_t* at, int64_t n) { return Xxh64().finish(at, n); }

// FNV-1a as fastText computes it, with bytes as signed numbers: those above 127 change the upper bits too. Words and
// n-grams of the text model are numbered by it, so it must never change. fnv1a_byte continues from a hash of the bytes
// before.
inline constexpr uint32_t kFnv1aStart = 2166136261u;
inline uint32_t fnv1a_byte(uint32_t state, char c) {
  return (state ^ static_cast<uint32_t>(static_cast<int8_t>(c))) * 16777619u;
}
inline uint32_t fnv1a(std::string_view word) {
  uint32_t state = kFnv1aStart;
  for (char c : word) state = fnv1a_byte(state, c);
  return state;
}

// A fast hash for tables in memory, by multiplication to 128 bits. It is not part of any file.
struct TermHash {
  static constexpr int64_t kShort = 8;  // bytes
  uint64_t hash;
  uint64_t key;  // the bytes themselves of a short term, else the hash
};

// 8 bytes after the term must be readable.
inline TermHash hash_term(const uint8_t* at, int64_t n) {
  auto mix = [](uint64_t a, uint64_t b) {
    auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  const bool is_short = n <= TermHash::kShort;
  uint64_t hash = static_cast<uint64_t>(n) * 0x9E3779B97F4A7C15u;
  for (; n > 8; n -= 8, at += 8) hash = mix(hash ^ read_word(at), 0xA0761D6478BD642Fu);
  const uint64_t last = n == 0 ? 0 : read_word(at) << (64 - 8 * n);
  hash = mix(hash ^ last ^ 0x8EBC6AF09C88C6E3u, 0x589965CC75374CC3u);
  return {hash, is_short ? last : hash};
}

}  // namespace labeltrees
