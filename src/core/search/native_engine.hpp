// The search engine together with the arrays that it points into.
#pragma once

#include <string>
#include <vector>

#include "common/bindings.hpp"
#include "linear/loss.hpp"
#include "search/engine.hpp"

namespace labeltrees {

struct NativeEngine {
  NativeEngine(int64_t n_features, int32_t n_labels, bool matrices, bool normalize, const std::string& loss,
               float score_power)
      : engine(n_features, n_labels, matrices, normalize, {find_loss(loss).id, score_power}) {}
  SearchEngine engine;
  std::vector<nb::object> arrays;
};

// Adds the methods that count and time searches (count_bindings.cpp).
void bind_search_counts(nb::class_<NativeEngine>& engine);

}  // namespace labeltrees
