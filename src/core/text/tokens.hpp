// Words of a text, n-grams and their hashes, exactly as in fastText, so that vocabularies and buckets are the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/hash.hpp"

namespace labeltrees::text {

inline constexpr std::string_view kLineEnd = "</s>";  // the word for the end of a line
inline constexpr std::string_view kLabelPrefix = "__label__";

inline bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

// Removes the next word from the front of `text`. OUT: word, hash. Returns false if there is none.
inline bool next_word(std::string_view& text, std::string_view& word, uint32_t& hash) {
  size_t begin = 0;
  while (begin < text.size() && is_space(text[begin])) ++begin;
  size_t end = begin;
  uint32_t state = kFnv1aStart;
  for (; end < text.size() && !is_space(text[end]); ++end) state = fnv1a_byte(state, text[end]);
  word = text.substr(begin, end - begin);
  hash = state;
  text.remove_prefix(end);
  return !word.empty();
}

inline bool has_label_prefix(std::string_view word) { return word.substr(0, kLabelPrefix.size()) == kLabelPrefix; }

// Calls use(word, hash) for the words of one line, and for its end if it is `ended`. Returns the number of bytes it
// read, counting the end as one byte. A word </s> ends the line at any position.
template <class Use>
size_t for_each_word(std::string_view line, bool ended, Use&& use) {
  static const uint32_t line_end_hash = fnv1a(kLineEnd);
  std::string_view rest = line, word;
  uint32_t hash;
  while (next_word(rest, word, hash)) {
    use(word, hash);
    if (word == kLineEnd) return line.size() - rest.size();
  }
  if (ended) use(kLineEnd, line_end_hash);
  return line.size() + ended;
}

// Calls use(bucket) for the n-grams of a line, given the hashes of its words (int32, because fastText sign-extends
// them).
template <class Use>
void for_each_word_ngram(const int32_t* hashes, int64_t n, int longest, int64_t n_buckets, Use&& use) {
  for (int64_t i = 0; i < n; ++i) {
    auto state = static_cast<uint64_t>(static_cast<int64_t>(hashes[i]));
    for (int64_t j = i + 1; j < n && j < i + longest; ++j) {
      state = state * 116049371u + static_cast<uint64_t>(static_cast<int64_t>(hashes[j]));
      use(static_cast<int32_t>(state % static_cast<uint64_t>(n_buckets)));
    }
  }
}

// Calls use(bucket) for the character n-grams of "<word>" with `shortest` to `longest` UTF-8 characters, except a
// single < or >.
template <class Use>
void for_each_subword(std::string_view bracketed, int shortest, int longest, int64_t n_buckets, Use&& use) {
  auto continues = [&](size_t at) { return (bracketed[at] & 0xC0) == 0x80; };
  for (size_t i = 0; i < bracketed.size(); ++i) {
    if (continues(i)) continue;
    uint32_t state = kFnv1aStart;
    size_t j = i;
    for (int n = 1; j < bracketed.size() && n <= longest; ++n) {
      state = fnv1a_byte(state, bracketed[j++]);
      while (j < bracketed.size() && continues(j)) state = fnv1a_byte(state, bracketed[j++]);
      if (n >= shortest && !(n == 1 && (i == 0 || j == bracketed.size())))
        use(static_cast<int32_t>(state % static_cast<uint32_t>(n_buckets)));
    }
  }
}

}  // namespace labeltrees::text
