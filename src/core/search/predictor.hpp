// One query at a time from Python, with as little as possible around the search itself.
#pragma once

#include "common/bindings.hpp"
#include "search/engine.hpp"
#include "tfidf/native.hpp"

namespace labeltrees {

// What a query or an argument has wrong; becomes InputError.
struct BadQuery : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

class NativePredictor {
 public:
  // losses: the array of options.losses, to keep it alive. most > 0: always searches for so many labels, returns the
  // first k of them and refuses a larger k. vectorizer None: texts are refused.
  NativePredictor(nb::object engine_object, SearchEngine& engine, const SearchOptions& options, nb::object losses,
                  int64_t most, nb::object vectorizer);

  // (indices, values), or one CSR row, or one dense row, or (text, k); k None: as made.
  nb::tuple operator()(nb::handle first, nb::handle second, nb::handle k) const;

  nb::handle engine_object() const { return engine_object_; }

 private:
  int64_t search_text(nb::handle text, const SearchOptions& options, int64_t* labels, float* scores) const;

  nb::object engine_object_, losses_object_, vectorizer_object_;  // keep alive what is used below
  SearchEngine& engine_;
  const TextVectorizer* vectorizer_ = nullptr;
  SearchOptions options_;
  int64_t most_;
  nb::object empty_, int64_, float32_;  // numpy.empty and two dtypes: quicker than nanobind's way to an array
};

}  // namespace labeltrees
