#include "tfidf/unicode_text.hpp"

#include <cstring>

namespace labeltrees::unicode {

namespace {

constexpr uint32_t capital_sigma = 0x3A3, small_sigma = 0x3C3, final_sigma = 0x3C2;
constexpr uint32_t dotted_capital_i = 0x130, dot_above = 0x307;
constexpr uint32_t hangul_first = 0xAC00, hangul_count = 11172, hangul_tails = 28, hangul_vowels = 21;

uint8_t lower_ascii(uint8_t byte) { return byte + (static_cast<uint8_t>(byte - 'A') < 26 ? 32 : 0); }

uint32_t decode_before(const uint8_t*& at) {
  do --at;
  while ((*at & 0xC0) == 0x80);
  const uint8_t* start = at;
  return decode(start);
}

// A sigma is final behind a cased character and not before one; characters that case ignores are left aside.
bool is_final_sigma(const uint8_t* text, const uint8_t* sigma, const uint8_t* end) {
  uint8_t flags = ignorable;
  for (const uint8_t* at = sigma; at > text && (flags & ignorable);) flags = flags_of(decode_before(at));
  if (!(flags & cased)) return false;
  flags = ignorable;
  for (const uint8_t* at = sigma + 2; at < end && (flags & ignorable);) flags = flags_of(decode(at));
  return !(flags & cased);
}

uint32_t lower_of(uint32_t code) {
  return code + record_lower[class_record[class_page[code / page_size] * page_size + code % page_size]];
}

}  // namespace

bool all_ascii(const uint8_t* text, int64_t n) {
  uint8_t bits = 0;
  for (int64_t i = 0; i < n; ++i) bits |= text[i];
  return is_ascii(bits);
}

void lower(const uint8_t* text, int64_t n, TextBuffer& out) {
  out.reserve(2 * n);  // 2 bytes become 3 at the most
  if (all_ascii(text, n)) {
    uint8_t* to = out.data();
    for (int64_t i = 0; i < n; ++i) to[i] = lower_ascii(text[i]);
    out.size = n;
    return;
  }
  const uint8_t* end = text + n;
  uint8_t* to = out.data();
  for (const uint8_t* at = text; at < end;) {
    if (is_ascii(*at)) {
      *to++ = lower_ascii(*at++);
      continue;
    }
    const uint8_t* start = at;
    uint32_t code = decode(at);
    if (code == dotted_capital_i) {
      *to++ = 'i';
      to = encode(dot_above, to);
    } else if (code == capital_sigma) {
      to = encode(is_final_sigma(text, start, end) ? final_sigma : small_sigma, to);
    } else {
      to = encode(lower_of(code), to);
    }
  }
  out.size = to - out.data();
}

void strip_accents(const uint8_t* text, int64_t n, Strip how, TextBuffer& out) {
  out.size = 0;
  out.reserve(n);
  auto put = [&](uint32_t code) {
    if (how == Strip::ascii && code >= 0x80) return;
    out.reserve(out.size + 4);
    out.size = encode(code, out.data() + out.size) - out.data();
  };
  const uint8_t* end = text + n;
  for (const uint8_t* at = text; at < end;) {
    uint32_t code = decode(at);
    uint32_t syllable = code - hangul_first;
    if (code < 0x80) {
      put(code);
    } else if (syllable < hangul_count) {
      put(0x1100 + syllable / (hangul_vowels * hangul_tails));
      put(0x1161 + syllable % (hangul_vowels * hangul_tails) / hangul_tails);
      if (syllable % hangul_tails != 0) put(0x11A7 + syllable % hangul_tails);
    } else if (uint32_t sequence = strip_sequence[strip_page[code / page_size] * page_size + code % page_size]) {
      for (uint32_t i = strip_start[sequence]; i < strip_start[sequence + 1]; ++i) put(strip_pool[i]);
    } else {
      put(code);
    }
  }
}

}  // namespace labeltrees::unicode
