// Unicode text as Python's str treats it: word characters, blanks, lower case and accents. The tables are generated
// from Python itself (scripts/make_unicode_tables.py).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tfidf/unicode_tables.hpp"

namespace labeltrees::tfidf::unicode {

// Flags of a code point: word, space, cased, ignorable.
inline constexpr uint8_t flags_of(uint32_t code) {
  return record_flags[class_record[class_page[code / page_size] * page_size + code % page_size]];
}

inline bool is_ascii(uint8_t byte) { return byte < 0x80; }

// The code point at `at`, which is moved past it. The text must be valid UTF-8.
inline uint32_t decode(const uint8_t*& at) {
  uint32_t lead = *at;
  if (lead < 0x80) return ++at, lead;
  if (lead < 0xE0) {
    uint32_t code = (lead & 0x1Fu) << 6 | (at[1] & 0x3Fu);
    return at += 2, code;
  }
  if (lead < 0xF0) {
    uint32_t code = (lead & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    return at += 3, code;
  }
  uint32_t code = (lead & 0x07u) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
  return at += 4, code;
}

// Writes a code point and returns the position after it.
inline uint8_t* encode(uint32_t code, uint8_t* out) {
  if (code < 0x80) {
    *out++ = static_cast<uint8_t>(code);
  } else if (code < 0x800) {
    *out++ = static_cast<uint8_t>(0xC0 | code >> 6);
    *out++ = static_cast<uint8_t>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *out++ = static_cast<uint8_t>(0xE0 | code >> 12);
    *out++ = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
    *out++ = static_cast<uint8_t>(0x80 | (code & 0x3F));
  } else {
    *out++ = static_cast<uint8_t>(0xF0 | code >> 18);
    *out++ = static_cast<uint8_t>(0x80 | (code >> 12 & 0x3F));
    *out++ = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
    *out++ = static_cast<uint8_t>(0x80 | (code & 0x3F));
  }
  return out;
}

enum class Strip { none, unicode, ascii };

// A text with readable padding after it, so that a hash may read 8 bytes at a time.
struct TextBuffer {
  static constexpr int64_t kPadding = 16, kMostSpare = 1 << 16;

  void reserve(int64_t n) {
    if (capacity() < n) bytes.resize(n + std::min(n / 2, kMostSpare) + kPadding);
  }
  int64_t capacity() const { return static_cast<int64_t>(bytes.size()) - kPadding; }
  uint8_t* data() { return bytes.data(); }

  std::vector<uint8_t> bytes;
  int64_t size = 0;
};

// OUT: str.lower() of the text, with Python's rules for the final sigma and the dotted capital I.
void lower(const uint8_t* text, int64_t n, TextBuffer& out);

// OUT: NFKD of the text without combining characters (unicode) or without all characters that are not ASCII (ascii).
void strip_accents(const uint8_t* text, int64_t n, Strip strip, TextBuffer& out);

bool all_ascii(const uint8_t* text, int64_t n);

}  // namespace labeltrees::tfidf::unicode
