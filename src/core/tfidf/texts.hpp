// Python's strings as native code reads them.
#pragma once

#include <string>
#include <vector>

#include "common/bindings.hpp"
#include "tfidf/learn.hpp"

namespace labeltrees {

// What is wrong with a text or with what should be texts; becomes InputError.
struct BadText : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The UTF-8 of a str, which lives as long as the str; CPython keeps it, so that it is made once.
TextView utf8_of(nb::handle text, const std::string& name);

// Texts and what keeps them alive while the interpreter lock is released. Bytes are decoded.
class HeldTexts {
 public:
  HeldTexts(nb::handle texts, const std::string& encoding, const std::string& errors);
  const std::vector<TextView>& views() const { return views_; }
  int64_t size() const { return static_cast<int64_t>(views_.size()); }

 private:
  nb::object held_;
  std::vector<nb::object> decoded_;
  std::vector<TextView> views_;
};

// The analyzer and the arrays of its stop words.
struct NativeAnalyzer {
  NativeAnalyzer(const std::string& kind, int64_t min_n, int64_t max_n, bool lowercase, const std::string& strip,
                 ConstArray<uint8_t> stop_text, ConstArray<int64_t> stop_ends, std::string encoding,
                 std::string errors);
  nb::object stop_text, stop_ends;
  std::string encoding, errors;
  TextAnalyzer analyzer;
};

}  // namespace labeltrees
