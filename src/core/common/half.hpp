// Converts IEEE half precision in software: for packing, which must give the same bytes on every processor, and for
// processors without F16C.
#pragma once

#include <cstdint>
#include <cstring>

namespace labeltrees {

// Rounds to nearest, ties to even. Values beyond the largest half (65504) become the largest half, not infinity.
static inline uint16_t to_half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  bits &= 0x7FFFFFFFu;
  if (bits >= 0x477FF000u) return sign | 0x7BFFu;  // 65520 and above would round to infinity
  if (bits < 0x38800000u) {                        // below 2^-14: subnormal, multiples of 2^-24
    float magnitude;
    std::memcpy(&magnitude, &bits, 4);
    magnitude += 0.5f;  // the last bit of the sum is worth 2^-24, so the addition rounds
    std::memcpy(&bits, &magnitude, 4);
    return static_cast<uint16_t>(sign | (bits - 0x3F000000u));
  }
  uint32_t odd = (bits >> 13) & 1;
  return static_cast<uint16_t>(sign | ((bits + 0xC8000FFFu + odd) >> 13));
}

static inline float from_half(uint16_t half) {
  uint32_t magnitude = (half & 0x7FFFu) << 13, sign = (half & 0x8000u) << 16, bits;
  float scaled, scale = 0x1p112f;  // changes the exponent's bias; correct for subnormals too
  std::memcpy(&scaled, &magnitude, 4);
  scaled *= scale;
  std::memcpy(&bits, &scaled, 4);
  if (magnitude >= 0x0F800000u) bits = magnitude | 0x7F800000u;  // infinity and NaN
  bits |= sign;
  std::memcpy(&scaled, &bits, 4);
  return scaled;
}

}  // namespace labeltrees
