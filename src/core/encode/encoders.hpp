// The encoders: items, texts, and several encoders side by side.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "encode/encoder.hpp"
#include "tfidf/python_texts.hpp"

namespace labeltrees::encode {

enum class ItemWeighting { log, count, binary };
enum class RowNorm { none, l1, l2 };

struct ItemOptions {
  ItemWeighting weighting = ItemWeighting::log;
  RowNorm norm = RowNorm::none;
  std::optional<std::string> separator = std::nullopt;  // splits a context that is a str
  bool is_column = false;  // the items are names of a column: spaces around them are ignored; not a history
};

// A list of items as a row: one feature per item of a vocabulary.
class ItemEncoder : public ContextEncoder {
 public:
  // names, ids: NativeNames; ids may be None. A name is looked up first, then an id.
  ItemEncoder(nb::object names, nb::object ids, ItemOptions options, std::string takes);

  int64_t n_features() const override { return names_->size(); }
  bool takes_text() const override { return options_.separator.has_value(); }
  void read(nb::handle context, const PartPlace& place, EncodeScratch& scratch) const override;
  void finish(const PartPlace& place, EncodeScratch& scratch) const override;

 private:
  void read_sequence(nb::handle items, const PartPlace& place, EncodeScratch& scratch) const;
  void read_entry(nb::handle entry, const PartPlace& place, EncodeScratch& scratch) const;
  void read_item(nb::handle item, double count, const PartPlace& place, EncodeScratch& scratch) const;
  void read_name(std::string_view name, double count, const PartPlace& place, EncodeScratch& scratch) const;
  double read_count(nb::handle count, const PartPlace& place, const EncodeScratch& scratch) const;

  nb::object names_object_, ids_object_;  // keep the tables alive
  const NameTable *names_, *ids_ = nullptr;
  ItemOptions options_;
};

// A text as a row of tf-idf weights.
class TextEncoder : public ContextEncoder {
 public:
  // vectorizers: a NativeUnion.
  TextEncoder(nb::object vectorizers, bool takes_tokens, std::string takes)
      : ContextEncoder(std::move(takes)),
        object_(vectorizers),
        native_(nb::cast<const tfidf::NativeUnion&>(vectorizers)),
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
      tfidf::HeldText held = tfidf::hold_text(context, *native_.readings()[i], kName);
      part.texts[i].assign(held.view.at, held.view.at + held.view.size);
      part.tokens[i] = held.view.tokens;
    }
    part.has_text = true;
  }

  void finish(const PartPlace& place, EncodeScratch& scratch) const override {
    PartScratch& part = scratch.parts[place.number];
    if (!part.has_text) return;
    part.has_text = false;
    tfidf::TextView views[kMaxReadings];
    for (size_t i = 0; i < part.texts.size(); ++i)
      views[i] = {part.texts[i].data(), static_cast<int64_t>(part.texts[i].size()), part.tokens[i]};
    tfidf::TextUnion::Scratches::Borrowed borrowed(native_.parts.scratches());
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
  const tfidf::NativeUnion& native_;
  bool takes_tokens_;
};

// Several encoders side by side.
class UnionEncoder : public ContextEncoder {
 public:
  // keys: the names of the parts, str. parts: ContextEncoders that are not unions. weights: floats.
  UnionEncoder(nb::list keys, nb::list parts, nb::list weights, std::string takes);

  int64_t n_features() const override { return n_features_; }
  size_t n_parts() const override { return parts_.size(); }
  void read(nb::handle context, const PartPlace& place, EncodeScratch& scratch) const override;
  void finish(const PartPlace& place, EncodeScratch& scratch) const override;

 private:
  void read_part(size_t number, nb::handle context, EncodeScratch& scratch) const;

  nb::list keys_, objects_;  // keep alive the objects that are pointed to
  std::vector<const ContextEncoder*> parts_;
  std::vector<std::string> names_;
  std::vector<PartPlace> places_;
  int64_t n_features_ = 0;
};

}  // namespace labeltrees::encode
