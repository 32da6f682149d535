// Texts as Python's str sees them: which characters are words and blanks, lower case, accents stripped. The tables are
// made from Python itself (scripts/make_unicode_tables.py).
#pragma once

#include <cstdint>
#include <vector>

#include "tfidf/unicode_tables.hpp"

namespace labeltrees::unicode {

// Flags of a code point: word, space, cased, ignorable.
inline constexpr uint8_t flags_of(uint32_t code) {
  return record_flags[class_record[class_page[code / page_size] * page_size + code % page_size]];
}

inline bool is_ascii(uint8_t byte) { return byte < 0x80; }

// The code point that starts at `at`, which is moved behind it. The text is sound UTF-8: it came from Python.
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

// Writes a code point, returns where the next one goes.
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

// A buffer of text with `slack` readable bytes behind it, so that a hash may read whole words.
struct TextBuffer {
  static constexpr int64_t slack = 16;

  void reserve(int64_t n) {
    if (static_cast<int64_t>(bytes.size()) < n + slack) bytes.resize(n + n / 2 + slack);
  }
  uint8_t* data() { return bytes.data(); }

  std::vector<uint8_t> bytes;
  int64_t size = 0;
};

// out = str.lower() of the text, with Python's rules for the final sigma and for the dotted capital I.
void lower(const uint8_t* text, int64_t n, TextBuffer& out);

// out = NFKD of the text without combining characters (unicode), or without everything that is not ASCII (ascii).
void strip_accents(const uint8_t* text, int64_t n, Strip how, TextBuffer& out);

bool all_ascii(const uint8_t* text, int64_t n);

}  // namespace labeltrees::unicode
