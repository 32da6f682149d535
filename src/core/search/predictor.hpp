// Predicts one query per call from Python, with as little as possible around the search itself.
#pragma once

#include <atomic>

#include "encode/encoder.hpp"
#include "search/native_engine.hpp"
#include "search/single_answer.hpp"

namespace labeltrees {

class NativePredictor {
 public:
  // engine: a NativeEngine. encoder: a ContextEncoder, or None for a predictor that takes only features. names:
  // NativeNames of the labels, or None. label_of_feature: an array of int32, the label of the same item as each feature
  // or -1, to exclude the items of a history; or None.
  NativePredictor(nb::object engine, nb::object request, int64_t k, nb::object encoder, nb::object names,
                  bool with_names, nb::object label_of_feature);

  // (indices, values, k), or (CSR row, k=k), or (dense row, k=k), or (context, k). None: as the predictor was made.
  nb::tuple operator()(nb::handle first, nb::handle second, nb::handle k, nb::handle exclude,
                       nb::handle candidates) const;
  // The same as lists of names or ids, and of scores with six digits: what a server writes as JSON.
  nb::tuple lists(nb::handle first, nb::handle second, nb::handle k, nb::handle exclude, nb::handle candidates) const;

  // Items and words of all contexts so far that the encoder did not know.
  int64_t n_unknown() const { return n_unknown_.load(std::memory_order_relaxed); }
  // Calls so far whose query had no feature.
  int64_t n_no_features() const { return answer_.n_no_features(); }

 private:
  nb::tuple answer(nb::handle first, nb::handle second, CallOptions options) const;
  bool is_context(nb::handle first) const;
  nb::tuple predict_context(nb::handle context, const CallOptions& options) const;
  nb::tuple predict_sparse(nb::handle indices, nb::handle values, const CallOptions& options) const;
  nb::tuple predict_dense(nb::handle row, const CallOptions& options) const;
  [[noreturn]] void refuse(nb::handle first) const;

  SearchEngine& engine_;
  SingleAnswer answer_;
  nb::object encoder_object_, label_array_;  // keep alive what is pointed to
  const ContextEncoder* encoder_ = nullptr;
  const int32_t* label_of_feature_ = nullptr;
  mutable ScratchPool<EncodeScratch> scratches_;
  mutable std::atomic<int64_t> n_unknown_{0};
};

}  // namespace labeltrees
