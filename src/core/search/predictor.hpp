// Predicts one query per call from Python, with as little as possible around the search itself.
#pragma once

#include "search/native_engine.hpp"
#include "search/single_answer.hpp"
#include "tfidf/native.hpp"

namespace labeltrees {

class NativePredictor {
 public:
  // engine: a NativeEngine. vectorizer: a NativeVectorizer, or None for a predictor that takes no texts.
  NativePredictor(nb::object engine, nb::object request, int64_t k, nb::object vectorizer);

  // (indices, values, k), or (CSR row, k=k), or (dense row, k=k), or (text, k). k None: the k of the predictor.
  nb::tuple operator()(nb::handle first, nb::handle second, nb::handle k) const;

 private:
  nb::tuple predict_text(nb::handle text, nb::handle k) const;
  nb::tuple predict_sparse(nb::handle indices, nb::handle values, nb::handle k) const;
  nb::tuple predict_dense(nb::handle row, nb::handle k) const;

  SingleAnswer answer_;
  SearchEngine& engine_;
  nb::object vectorizer_object_;  // keeps vectorizer_ alive
  const TextVectorizer* vectorizer_ = nullptr;
};

}  // namespace labeltrees
