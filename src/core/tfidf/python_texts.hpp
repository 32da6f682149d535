// Reads Python strings, bytes and lists of tokens as UTF-8.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/bindings.hpp"
#include "tfidf/analyzer.hpp"
#include "tfidf/vectorizer.hpp"

namespace labeltrees::tfidf {

// The argument `texts` or one of its texts is invalid; raised as InputError.
struct BadText : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// How Python objects become texts.
struct TextReading {
  std::string encoding, errors;  // of bytes
  bool nfc = false;              // normalise texts to NFC
  // The user's functions: from a text to another text (str) or its tokens (a list of str). None: the text itself.
  nb::object prepare = nb::none();
  bool prepares_any = false;  // whether `prepare` takes any object; otherwise a list of tokens is not passed to it
  bool takes_tokens = true;   // whether a text may be a list of tokens
};

// The analyzer, the Python arrays of its stop words, and how it reads texts.
struct NativeAnalyzer {
  NativeAnalyzer(const std::string& kind, int64_t min_n, int64_t max_n, bool lowercase, const std::string& strip,
                 ConstArray<uint8_t> stop_text, ConstArray<int64_t> stop_ends, std::string encoding, std::string errors,
                 bool nfc, nb::object prepare, bool prepares_any);
  nb::object stop_text, stop_ends;
  TextAnalyzer analyzer;
  TextReading reading;
};

// Maps words to stems, in one block of memory: a map of the standard library takes twice the time of all other steps.
class StemTable {
 public:
  // The size of a stem as int64 and its bytes, as in TextView; nullptr if the word is unknown.
  const uint8_t* find(std::string_view word) const;
  // Keeps a stem. A full table is emptied first; a very long word is not kept.
  void insert(std::string_view word, std::string_view stem);

 private:
  static constexpr size_t kMostBytes = size_t{1} << 27;
  static size_t hash(std::string_view word) { return std::hash<std::string_view>{}(word); }
  void place(size_t hash, size_t entry);

  std::vector<uint8_t> bytes_;   // entries: size of the word as int64, the word, size of the stem as int64, the stem
  std::vector<uint64_t> slots_;  // a power of 2: the upper half of a hash and the place of its entry plus 1, or 0
  size_t n_ = 0;
};

// Stems the words of a text. Known words are looked up in native code. New words are stemmed by one call of a Python
// function and kept. It is `prepare` of a TextReading.
class NativeStemmer {
 public:
  // words: finds the words of a text, without stop words. stem_words: from a list of str to a list of str.
  NativeStemmer(nb::handle_t<NativeAnalyzer> words, nb::object stem_words)
      : words_(nb::borrow(words)), stem_words_(std::move(stem_words)) {}

  // The stems in the form of TextView; `name` is for error messages.
  std::vector<uint8_t> stems(const TextView& text, const std::string& name);

 private:
  using Missing = std::unordered_map<std::string, std::string>;  // words that were just stemmed, and their stems

  // Appends the stems of known words, found in the table or in `own`; returns the words without one.
  std::vector<std::string> look_up(const TextView& text, const Missing& own, std::vector<uint8_t>& packed);

  nb::object words_, stem_words_;
  std::mutex lock_;  // of the table and the scratch; never held while Python code runs
  AnalyzerScratch scratch_;
  StemTable table_;
};

// One text and what keeps its memory alive.
struct HeldText {
  nb::object object;
  std::vector<uint8_t> packed;  // tokens, in the form of TextView
  TextView view{nullptr, 0};
};

// `name` is for error messages.
HeldText hold_text(nb::handle text, const TextReading& reading, const std::string& name);

// Texts, kept alive while the interpreter lock is released.
class HeldTexts {
 public:
  HeldTexts(nb::handle texts, const TextReading& reading);
  const std::vector<TextView>& views() const { return views_; }
  int64_t size() const { return static_cast<int64_t>(views_.size()); }
  // The texts as Python objects, a tuple.
  const nb::object& objects() const { return held_; }
  // Refuses lists of tokens.
  void refuse_tokens() const;

 private:
  nb::object held_;
  std::vector<HeldText> made_;  // decoded, normalised or prepared
  std::vector<TextView> views_;
};

// Vectorizers together with the Python objects whose memory they read.
class NativeVectorizer {
 public:
  NativeVectorizer(nb::handle_t<NativeAnalyzer> analyzer, std::optional<ConstArray<uint8_t>> terms,
                   std::optional<ConstArray<int64_t>> ends, int64_t n_features, nb::object idf, nb::object logs,
                   const std::string& norm, bool binary, bool single, std::string source);

  const NativeAnalyzer& analyzer() const { return nb::cast<const NativeAnalyzer&>(arrays_[0]); }

 private:
  std::vector<nb::object> arrays_;  // the analyzer first

 public:
  TextVectorizer vectorizer;
};

// Vectorizers side by side. Those without user functions share one reading of a text; each of the others has its own.
class NativeUnion {
 public:
  // vectorizers: NativeVectorizers; weights: one float for each.
  NativeUnion(List<NativeVectorizer> vectorizers, List<float> weights);

  // How texts are read. Readings differ only in their functions.
  const std::vector<const TextReading*>& readings() const { return readings_; }
  // Whether all parts take lists of tokens.
  bool takes_tokens() const { return takes_tokens_; }

 private:
  std::vector<UnionPart> make_parts(nb::list weights);

  nb::list vectorizers_;
  std::vector<const TextReading*> readings_;
  bool takes_tokens_ = true;

 public:
  TextUnion parts;
};

}  // namespace labeltrees::tfidf
