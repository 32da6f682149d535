// One query at a time from Python, with as little as possible around the search itself.
#pragma once

#include "bindings.hpp"
#include "search_engine.hpp"

namespace labeltrees {

// What a query or an argument has wrong; becomes InputError.
struct BadQuery : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

class NativePredictor {
 public:
  NativePredictor(nb::object engine_object, SearchEngine& engine, const SearchOptions& options);

  // (indices, values), or one CSR row, or one dense row; k None: as made.
  nb::tuple operator()(nb::handle first, nb::handle second, nb::handle k) const;

  nb::handle engine_object() const { return engine_object_; }

 private:
  nb::object engine_object_;  // keeps the engine alive
  SearchEngine& engine_;
  SearchOptions options_;
  nb::object empty_, int64_, float32_;  // numpy.empty and two dtypes: quicker than nanobind's way to an array
};

}  // namespace labeltrees
