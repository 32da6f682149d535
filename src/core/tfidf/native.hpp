// The vectorizer together with the Python objects whose memory it reads.
#pragma once

#include <optional>

#include "tfidf/python_texts.hpp"
#include "tfidf/vectorizer.hpp"

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

}  // namespace labeltrees
