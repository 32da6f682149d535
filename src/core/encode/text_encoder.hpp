// A text as a row of tf-idf weights.
#pragma once

#include "encode/encoder.hpp"
#include "tfidf/native.hpp"

namespace labeltrees {

class TextEncoder : public ContextEncoder {
 public:
  // vectorizer: a NativeVectorizer.
  TextEncoder(nb::object vectorizer, std::string takes)
      : ContextEncoder(std::move(takes)),
        object_(vectorizer),
        vectorizer_(nb::cast<const NativeVectorizer&>(vectorizer).vectorizer) {}

  int64_t n_features() const override { return vectorizer_.n_features(); }
  bool takes_text() const override { return true; }

  // Copies the text: the object that holds it may change once the interpreter lock is released.
  void read(nb::handle context, const PartPlace& place, EncodeScratch& scratch) const override {
    if (!PyUnicode_Check(context.ptr())) refuse(context, place, scratch);
    PartScratch& part = scratch.parts[place.number];
    const TextView view = utf8_of(context, "the text");
    part.text.assign(view.at, view.at + view.size);
    part.has_text = true;
  }

  void finish(const PartPlace& place, EncodeScratch& scratch) const override {
    PartScratch& part = scratch.parts[place.number];
    if (!part.has_text) return;
    part.has_text = false;
    TextVectorizer::Scratches::Borrowed borrowed(vectorizer_.scratches());
    borrowed->n_unknown = 0;
    vectorizer_.one_row({part.text.data(), static_cast<int64_t>(part.text.size())}, *borrowed);
    scratch.n_unknown += borrowed->n_unknown;
    for (size_t i = 0; i < borrowed->row.size(); ++i) {
      scratch.features.push_back(place.offset + borrowed->row[i]);
      scratch.values.push_back(borrowed->weights[i] * place.weight);
    }
  }

 private:
  nb::object object_;  // keeps the vectorizer alive
  const TextVectorizer& vectorizer_;
};

}  // namespace labeltrees
