// Reads Python strings and bytes as UTF-8.
#pragma once

#include <string>
#include <vector>

#include "common/bindings.hpp"
#include "tfidf/learn.hpp"

namespace labeltrees {

// The argument `texts` or one of its texts is invalid; raised as InputError.
struct BadText : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The UTF-8 of a str, which lives as long as the str: CPython caches it. `name` is for the error message.
TextView utf8_of(nb::handle text, const std::string& name);

// Texts, kept alive while the interpreter lock is released. Bytes are decoded.
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

// The analyzer and the Python arrays of its stop words.
struct NativeAnalyzer {
  NativeAnalyzer(const std::string& kind, int64_t min_n, int64_t max_n, bool lowercase, const std::string& strip,
                 ConstArray<uint8_t> stop_text, ConstArray<int64_t> stop_ends, std::string encoding,
                 std::string errors);
  nb::object stop_text, stop_ends;
  std::string encoding, errors;
  TextAnalyzer analyzer;
};

}  // namespace labeltrees
