// Vectorizers together with the Python objects whose memory they read.
#pragma once

#include <optional>

#include "tfidf/python_texts.hpp"
#include "tfidf/union.hpp"

namespace labeltrees {

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
  NativeUnion(nb::list vectorizers, nb::list weights);

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

}  // namespace labeltrees
