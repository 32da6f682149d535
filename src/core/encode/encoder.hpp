// From a Python object (a text, a list of items) to a row of features.
//
// A row is made in two steps: read() takes what it needs from the Python object while the interpreter lock is held, and
// finish() makes the row without it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/memory.hpp"
#include "encode/names.hpp"

namespace labeltrees::encode {

// Collects the labels that have the names of the items read, so that predictions can leave out a history.
struct SeenLabels {
  const NameTable* label_names = nullptr;
  const int32_t* label_of_feature = nullptr;  // -1: none
  std::vector<int32_t> labels;
};

// Working memory for one encoder without parts.
struct PartScratch {
  std::vector<uint8_t> padded;                     // a name, for its hash
  std::vector<std::pair<int32_t, double>> counts;  // features and their counts
  std::vector<std::vector<uint8_t>> texts;         // the text read, once per way of reading it
  std::vector<bool> tokens;                        // whether it is tokens
  bool has_text = false;

  size_t held_bytes() const {
    using labeltrees::held_bytes;
    return held_bytes(padded) + held_bytes(counts) + held_bytes(texts);
  }
};

// Working memory of one thread.
struct EncodeScratch {
  std::vector<PartScratch> parts;
  SeenLabels* seen = nullptr;
  int64_t context = -1;   // its place in a batch, for messages; -1: a single one
  int64_t n_unknown = 0;  // items and words of the context
  // The row: rising features and their values.
  std::vector<int32_t> features;
  std::vector<float> values;

  void start(size_t n_parts, int64_t place = -1) {
    parts.resize(n_parts);
    context = place;
    n_unknown = 0;
    features.clear();
    values.clear();
  }

  size_t held_bytes() const {
    using labeltrees::held_bytes;
    size_t total = held_bytes(features) + held_bytes(values);
    for (const PartScratch& part : parts) total += part.held_bytes();
    return total;
  }
};

// Where an encoder without parts puts its features.
struct PartPlace {
  size_t number = 0;          // of its PartScratch
  int32_t offset = 0;         // added to its features
  float weight = 1.0f;        // multiplied with its values
  const char* key = nullptr;  // its name in a union, for messages
};

class ContextEncoder {
 public:
  explicit ContextEncoder(std::string takes) : takes_(std::move(takes)) {}
  virtual ~ContextEncoder() = default;

  virtual int64_t n_features() const = 0;
  virtual size_t n_parts() const { return 1; }
  // Whether a str is one context.
  virtual bool takes_text() const { return false; }
  virtual void read(nb::handle context, const PartPlace& place, EncodeScratch& scratch) const = 0;
  virtual void finish(const PartPlace& place, EncodeScratch& scratch) const = 0;

  // A description of one context, for messages.
  const std::string& takes() const { return takes_; }

 protected:
  [[noreturn]] void refuse(nb::handle context, const PartPlace& place, const EncodeScratch& scratch) const;

 private:
  std::string takes_;
};

// How messages name a context, such as contexts[3]['history'].
std::string context_name(const PartPlace& place, const EncodeScratch& scratch);
// A short text for a Python object, for messages.
std::string shown(nb::handle object);

}  // namespace labeltrees::encode
