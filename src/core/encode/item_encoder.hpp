// A list of items as a row: one feature per item of a vocabulary.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "encode/encoder.hpp"

namespace labeltrees {

enum class ItemWeighting { log, count, binary };
enum class RowNorm { none, l1, l2 };

struct ItemOptions {
  ItemWeighting weighting = ItemWeighting::log;
  RowNorm norm = RowNorm::none;
  std::optional<std::string> separator = std::nullopt;  // splits a context that is a str
  bool is_column = false;  // names of a column: spaces around them do not count, and they are not items of a history
};

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

}  // namespace labeltrees
