// Reads Python strings, bytes and lists of tokens as UTF-8.
#pragma once

#include <optional>
#include <string>
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

// Vectorizers side by side. Those without functions of the user read a text in the same way; each other has its own.
class NativeUnion {
 public:
  // vectorizers: NativeVectorizers; weights: one float for each.
  NativeUnion(List<NativeVectorizer> vectorizers, List<float> weights);

  // How texts are read; no reading differs from the first in anything but the functions.
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
