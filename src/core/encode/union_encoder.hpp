// Several encoders side by side.
#pragma once

#include "encode/encoder.hpp"

namespace labeltrees {

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

  nb::list keys_, objects_;  // keep what is pointed to alive
  std::vector<const ContextEncoder*> parts_;
  std::vector<std::string> names_;
  std::vector<PartPlace> places_;
  int64_t n_features_ = 0;
};

}  // namespace labeltrees
