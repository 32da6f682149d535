#include "tfidf_analyzer.hpp"

#include <array>
#include <cstring>

namespace labeltrees {

namespace {

constexpr std::array<uint8_t, 128> make_ascii_flags() {
  std::array<uint8_t, 128> flags{};
  for (uint32_t code = 0; code < 128; ++code) flags[code] = unicode::flags_of(code);
  return flags;
}

// One load instead of three for most characters of most texts.
constexpr std::array<uint8_t, 128> ascii_flags = make_ascii_flags();

uint8_t flags_at(const uint8_t*& at) {
  return unicode::is_ascii(*at) ? ascii_flags[*at++] : unicode::flags_of(unicode::decode(at));
}

}  // namespace

unicode::TextBuffer& TextAnalyzer::preprocess(const uint8_t* text, int64_t n, AnalyzerScratch& scratch) const {
  if (options_.lowercase) {
    unicode::lower(text, n, scratch.first);
  } else {
    scratch.first.reserve(n);
    if (n > 0) std::memcpy(scratch.first.data(), text, n);
    scratch.first.size = n;
  }
  unicode::TextBuffer* folded = &scratch.first;
  if (options_.strip != unicode::Strip::none && !unicode::all_ascii(folded->data(), folded->size)) {
    unicode::strip_accents(folded->data(), folded->size, options_.strip, scratch.second);
    folded = &scratch.second;
  }
  return *folded;
}

void TextAnalyzer::find_words(unicode::TextBuffer& text, std::vector<int64_t>& places, bool together) const {
  places.clear();
  uint8_t *begin_of_text = text.data(), *to = begin_of_text;
  const uint8_t *at = begin_of_text, *end_of_text = begin_of_text + text.size;
  while (at < end_of_text) {
    const uint8_t *begin = at, *end = at;
    int64_t characters = 0;
    while (at < end_of_text && (flags_at(at) & unicode::word)) {
      end = at;
      ++characters;
    }
    if (characters < 2) continue;
    int64_t n = end - begin;
    // Moving the word may overwrite what has been read, but not what is to be read: one character lies between words.
    if (together) {
      std::memmove(to, begin, n);
      begin = to;
    }
    if (!stop_words_.empty() && stop_words_.find(begin, n) >= 0) continue;
    places.push_back(begin - begin_of_text);
    if (together) {
      to += n;
      *to++ = separator;  // behind the last word it falls into the slack
    } else {
      places.push_back(begin - begin_of_text + n);
    }
  }
  if (together) places.push_back(to - begin_of_text);
}

void TextAnalyzer::find_characters(unicode::TextBuffer& text, int64_t begin, int64_t end,
                                   std::vector<int64_t>& starts) {
  starts.clear();
  const uint8_t* bytes = text.data();
  for (int64_t i = begin; i < end; ++i)
    if ((bytes[i] & 0xC0) != 0x80) starts.push_back(i);
  starts.push_back(end);
}

void TextAnalyzer::join_blanks(unicode::TextBuffer& text) {
  uint8_t* to = text.data();
  const uint8_t *at = to, *end = to + text.size;
  while (at < end) {
    const uint8_t* start = at;
    bool blank = flags_at(at) & unicode::space;
    const uint8_t* behind = at;
    if (blank) {
      int64_t blanks = 1;
      while (at < end) {
        const uint8_t* next = at;
        if (!(flags_at(next) & unicode::space)) break;
        at = next;
        ++blanks;
      }
      if (blanks > 1) {
        *to++ = separator;
        continue;
      }
    }
    std::memmove(to, start, behind - start);
    to += behind - start;
  }
  text.size = to - text.data();
}

void TextAnalyzer::pad_words(unicode::TextBuffer& text, unicode::TextBuffer& padded) {
  padded.reserve(2 * text.size + 2);
  uint8_t* to = padded.data();
  *to++ = separator;
  const uint8_t *at = text.data(), *end = at + text.size;
  while (at < end) {
    const uint8_t *begin = at, *stop = at;
    while (at < end && !(flags_at(at) & unicode::space)) stop = at;
    if (stop == begin) continue;
    std::memcpy(to, begin, stop - begin);
    to += stop - begin;
    *to++ = separator;
  }
  padded.size = to - padded.data();
}

}  // namespace labeltrees
