// Splits a text into terms: words of at least two characters, or character n-grams.
//
// The terms are those of scikit-learn's default pattern (?u)\b\w\w+\b and of its char and char_wb analyzers. A text can
// also be given as a list of words (tokens), of which the terms are the words and their n-grams.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tfidf/terms.hpp"
#include "tfidf/unicode_text.hpp"

namespace labeltrees::tfidf {

// A text as UTF-8, or its tokens: for each its size as int64 and its UTF-8. Does not own the memory.
struct TextView {
  const uint8_t* at;
  int64_t size;
  bool tokens = false;
};

enum class TermKind { word, character, character_in_word };

struct AnalyzerOptions {
  TermKind kind = TermKind::word;
  int64_t min_n = 1, max_n = 1;
  bool lowercase = true;
  unicode::Strip strip = unicode::Strip::none;
};

// Places in a text. 32 bits, because every character of a long text has a place: texts above 2 GiB are refused.
using Places = std::vector<uint32_t>;

// A thread's working memory; it grows with use.
struct AnalyzerScratch {
  unicode::TextBuffer first, second, third;
  Places starts;  // of words or characters in a buffer, and the end
  TermBlock block;

  size_t held_bytes() const {
    return first.bytes.capacity() + second.bytes.capacity() + third.bytes.capacity() +
           starts.capacity() * sizeof(starts[0]);
  }
};

class TextAnalyzer {
 public:
  TextAnalyzer(const AnalyzerOptions& options, TermIndex&& stop_words)
      : options_(options), stop_words_(std::move(stop_words)) {}

  // The text in lower case and without accents, if the options say so, in a buffer of the scratch.
  unicode::TextBuffer& preprocess(const uint8_t* text, int64_t n, AnalyzerScratch& scratch) const;

  // Whether a text may be a list of tokens.
  bool takes_tokens() const { return options_.kind == TermKind::word; }

  // Calls sink(terms, n) with the text's terms, block by block and in scikit-learn's order. At least 8 readable bytes
  // follow each term.
  template <class Sink>
  void analyze(const TextView& text, AnalyzerScratch& scratch, Sink&& sink) const {
    scratch.block.size = 0;
    if (text.tokens) {
      place_tokens(text, scratch.first, scratch.starts);
      slices(scratch.first, scratch.starts, options_.min_n, options_.max_n, 1, scratch.block, sink);
    } else {
      analyze_text(preprocess(text.at, text.size, scratch), scratch, sink);
    }
    if (scratch.block.size > 0) sink(scratch.block.terms, scratch.block.size);
  }

 private:
  template <class Sink>
  void analyze_text(unicode::TextBuffer& folded, AnalyzerScratch& scratch, Sink&& sink) const {
    switch (options_.kind) {
      case TermKind::word:
        if (options_.max_n == 1) {
          const Places& places = scratch.starts;
          for (int64_t begin = 0, end; begin < folded.size; begin = end) {
            end = end_of_words(folded, begin);
            find_words(folded, begin, end, scratch.starts, false);
            for (size_t i = 0; i + 1 < places.size(); i += 2)
              add(scratch.block, folded.data() + places[i], places[i + 1] - places[i], sink);
          }
        } else {
          find_words(folded, 0, folded.size, scratch.starts, true);
          slices(folded, scratch.starts, options_.min_n, options_.max_n, 1, scratch.block, sink);
        }
        break;
      case TermKind::character:
        join_blanks(folded);
        find_characters(folded, 0, folded.size, scratch.starts);
        slices(folded, scratch.starts, options_.min_n, options_.max_n, 0, scratch.block, sink);
        break;
      case TermKind::character_in_word:
        in_words(folded, scratch, sink);
        break;
    }
  }

  template <class Sink>
  static void add(TermBlock& block, const uint8_t* at, int64_t n, Sink&& sink) {
    block.terms[block.size++] = {at, n};
    if (block.size < TermBlock::kCapacity) return;
    sink(block.terms, block.size);
    block.size = 0;
  }

  // Adds all slices of min_n to max_n pieces, the shorter first. Piece i is starts[i] to starts[i + 1]; its last `gap`
  // bytes separate it from the next piece.
  template <class Sink>
  static void slices(unicode::TextBuffer& text, const Places& starts, int64_t min_n, int64_t max_n, int64_t gap,
                     TermBlock& block, Sink&& sink) {
    auto pieces = static_cast<int64_t>(starts.size()) - 1;
    for (int64_t n = min_n; n <= std::min(max_n, pieces); ++n)
      for (int64_t i = 0; i + n <= pieces; ++i)
        add(block, text.data() + starts[i], starts[i + n] - starts[i] - gap, sink);
  }

  template <class Sink>
  void in_words(unicode::TextBuffer& text, AnalyzerScratch& scratch, Sink&& sink) const {
    unicode::TextBuffer& padded = &text == &scratch.third ? scratch.second : scratch.third;
    pad_words(text, padded);
    // " one two ": every word together with the blanks on both sides.
    const uint8_t* at = padded.data();
    for (int64_t begin = 0; begin + 1 < padded.size;) {
      int64_t end = begin + 1;
      while (at[end] != kSeparator) ++end;
      find_characters(padded, begin, end + 1, scratch.starts);
      word_slices(padded, scratch.starts, scratch.block, sink);
      begin = end;
    }
  }

  // Like `slices`, but the last slice of a word with at most n characters is the word itself.
  template <class Sink>
  void word_slices(unicode::TextBuffer& text, const Places& starts, TermBlock& block, Sink&& sink) const {
    auto pieces = static_cast<int64_t>(starts.size()) - 1;
    for (int64_t n = options_.min_n; n <= options_.max_n; ++n) {
      if (n >= pieces) {
        add(block, text.data() + starts[0], starts[pieces] - starts[0], sink);
        return;
      }
      for (int64_t i = 0; i + n <= pieces; ++i) add(block, text.data() + starts[i], starts[i + n] - starts[i], sink);
    }
  }

  static constexpr uint8_t kSeparator = ' ';

  // The end of a piece of a long text that does not cut a word. In pieces, the places of words need little memory.
  static int64_t end_of_words(unicode::TextBuffer& text, int64_t begin);
  // Finds the words from begin to end that are not stop words. If `together`, moves them next to each other with one
  // blank in between, so that n-grams are slices, and sets places to their starts and the end plus one; else to pairs
  // of start and end.
  void find_words(unicode::TextBuffer& text, int64_t begin, int64_t end, Places& places, bool together) const;
  // OUT: the tokens that are not stop words, with one blank in between, and their starts and the end plus one.
  void place_tokens(const TextView& tokens, unicode::TextBuffer& text, Places& starts) const;
  static void find_characters(unicode::TextBuffer& text, int64_t begin, int64_t end, Places& starts);
  // Replaces two or more blanks by one space; a single blank of any kind stays.
  static void join_blanks(unicode::TextBuffer& text);
  static void pad_words(unicode::TextBuffer& text, unicode::TextBuffer& padded);

  AnalyzerOptions options_;
  TermIndex stop_words_;
};

}  // namespace labeltrees::tfidf
