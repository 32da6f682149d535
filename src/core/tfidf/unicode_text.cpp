#include "tfidf/unicode_text.hpp"

#include <cstring>

namespace labeltrees::tfidf::unicode {

namespace {

constexpr uint32_t kCapitalSigma = 0x3A3, kSmallSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr uint32_t kDottedCapitalI = 0x130, kDotAbove = 0x307;
constexpr uint32_t kHangulFirst = 0xAC00, kHangulCount = 11172, kHangulTails = 28, kHangulVowels = 21;

uint8_t lower_ascii(uint8_t byte) { return byte + (static_cast<uint8_t>(byte - 'A') < 26 ? 32 : 0); }

uint32_t decode_before(const uint8_t*& at) {
  do --at;
  while ((*at & 0xC0) == 0x80);
  const uint8_t* start = at;
  return decode(start);
}

// A sigma is final if a cased character precedes it and none follows; case-ignorable characters are skipped.
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
  if (all_ascii(text, n)) {
    out.reserve(n);
    uint8_t* to = out.data();
    for (int64_t i = 0; i < n; ++i) to[i] = lower_ascii(text[i]);
    out.size = n;
    return;
  }
  out.reserve(n + n / 2 + 1);  // at most: 2 bytes become 3
  const uint8_t* end = text + n;
  uint8_t* to = out.data();
  for (const uint8_t* at = text; at < end;) {
    if (is_ascii(*at)) {
      *to++ = lower_ascii(*at++);
      continue;
    }
    const uint8_t* start = at;
    uint32_t code = decode(at);
    if (code == kDottedCapitalI) {
      *to++ = 'i';
      to = encode(kDotAbove, to);
    } else if (code == kCapitalSigma) {
      to = encode(is_final_sigma(text, start, end) ? kFinalSigma : kSmallSigma, to);
    } else {
      to = encode(lower_of(code), to);
    }
  }
  out.size = to - out.data();
}

void strip_accents(const uint8_t* text, int64_t n, Strip strip, TextBuffer& out) {
  out.size = 0;
  out.reserve(n);
  auto put = [&](uint32_t code) {
    if (strip == Strip::ascii && code >= 0x80) return;
    if (out.capacity() < out.size + 4) out.reserve(2 * out.size + 4);
    out.size = encode(code, out.data() + out.size) - out.data();
  };
  const uint8_t* end = text + n;
  for (const uint8_t* at = text; at < end;) {
    uint32_t code = decode(at);
    uint32_t syllable = code - kHangulFirst;
    if (code < 0x80) {
      put(code);
    } else if (syllable < kHangulCount) {
      put(0x1100 + syllable / (kHangulVowels * kHangulTails));
      put(0x1161 + syllable % (kHangulVowels * kHangulTails) / kHangulTails);
      if (syllable % kHangulTails != 0) put(0x11A7 + syllable % kHangulTails);
    } else if (uint32_t sequence = strip_sequence[strip_page[code / page_size] * page_size + code % page_size]) {
      for (uint32_t i = strip_start[sequence]; i < strip_start[sequence + 1]; ++i) put(strip_pool[i]);
    } else {
      put(code);
    }
  }
}

}  // namespace labeltrees::tfidf::unicode
