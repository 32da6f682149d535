// A text as a row of tf-idf weights.
#pragma once

#include "encode/encoder.hpp"
#include "tfidf/native.hpp"

namespace labeltrees {

class TextEncoder : public ContextEncoder {
 public:
  // vectorizers: a NativeUnion.
  TextEncoder(nb::object vectorizers, bool takes_tokens, std::string takes)
      : ContextEncoder(std::move(takes)),
        object_(vectorizers),
        native_(nb::cast<const NativeUnion&>(vectorizers)),
        takes_tokens_(takes_tokens && native_.takes_tokens()) {}

  int64_t n_features() const override { return native_.parts.n_features(); }
  bool takes_text() const override { return true; }

  // Copies the text: the object that holds it may change once the interpreter lock is released.
  void read(nb::handle context, const PartPlace& place, EncodeScratch& scratch) const override {
    const bool is_tokens = takes_tokens_ && (PyList_Check(context.ptr()) || PyTuple_Check(context.ptr()));
    if (!PyUnicode_Check(context.ptr()) && !is_tokens) refuse(context, place, scratch);
    PartScratch& part = scratch.parts[place.number];
    const size_t n = native_.readings().size();
    part.texts.resize(n);
    part.tokens.resize(n);
    for (size_t i = 0; i < n; ++i) {
      HeldText held = hold_text(context, *native_.readings()[i], kName);
      part.texts[i].assign(held.view.at, held.view.at + held.view.size);
      part.tokens[i] = held.view.tokens;
    }
    part.has_text = true;
  }

  void finish(const PartPlace& place, EncodeScratch& scratch) const override {
    PartScratch& part = scratch.parts[place.number];
    if (!part.has_text) return;
    part.has_text = false;
    TextView views[kMaxReadings];
    for (size_t i = 0; i < part.texts.size(); ++i)
      views[i] = {part.texts[i].data(), static_cast<int64_t>(part.texts[i].size()), part.tokens[i]};
    TextUnion::Scratches::Borrowed borrowed(native_.parts.scratches());
    borrowed->n_unknown = 0;
    native_.parts.one_row(views, *borrowed);
    scratch.n_unknown += borrowed->n_unknown;
    for (size_t i = 0; i < borrowed->row.size(); ++i) {
      scratch.features.push_back(place.offset + borrowed->row[i]);
      scratch.values.push_back(borrowed->weights[i] * place.weight);
    }
  }

 private:
  static constexpr size_t kMaxReadings = 16;  // MAX_PARTS of a union
  static inline const std::string kName = "the text";

  nb::object object_;  // keeps the vectorizers alive
  const NativeUnion& native_;
  bool takes_tokens_;
};

}  // namespace labeltrees
