// Names as two arrays (UTF-8 bytes one after another, and their bounds), with an index by name that is made on first
// use. Both arrays may come from a file and are checked before they are used.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/bindings.hpp"
#include "tfidf/terms.hpp"

namespace labeltrees::encode {

class NameTable {
 public:
  NameTable(const uint8_t* text, int64_t n_text, const int64_t* ends, int64_t n, std::string source)
      : text_(text), n_text_(n_text), ends_(ends), n_(n), source_(std::move(source)) {}
  NameTable(const NameTable&) = delete;
  ~NameTable() { delete index_.load(); }

  int64_t size() const { return n_; }

  // The number of a name, or -1. `padded` is working memory. Throws DamagedTerms if the arrays are damaged.
  // Thread-safe.
  int32_t find(std::string_view name, std::vector<uint8_t>& padded) const;

  // The bytes of a name; throws DamagedTerms if its bounds are damaged.
  std::string_view name(int64_t number) const;
  const std::string& source() const { return source_; }

 private:
  const tfidf::TermIndex& index() const;

  const uint8_t* text_;
  int64_t n_text_;
  const int64_t* ends_;
  int64_t n_;
  std::string source_;
  mutable std::atomic<const tfidf::TermIndex*> index_{nullptr};
};

// The table together with the arrays that it points into.
struct NativeNames {
  NativeNames(ConstArray<uint8_t> text, ConstArray<int64_t> ends, std::string source)
      : text_array(nb::find(text)),
        ends_array(nb::find(ends)),
        table(text.data(), static_cast<int64_t>(text.size()), ends.data(), static_cast<int64_t>(ends.size()) - 1,
              std::move(source)) {}
  nb::object text_array, ends_array;
  NameTable table;
};

// A name as a Python str.
nb::object name_object(const NameTable& table, int64_t number);

}  // namespace labeltrees::encode
