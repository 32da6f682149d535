// Searches of the text model once more, in plain code: what they do is counted, and their parts are timed. Searches
// that answer count nothing: even a watch that looks at nothing made them slower (docs/decisions/0016).
#pragma once

#include <cstdint>
#include <vector>

#include "text/hsoftmax_search.hpp"

namespace labeltrees {

struct HsCounts {
  int64_t bytes = 0;       // of the text
  int64_t features = 0;    // words and n-grams, those without a row too
  int64_t rows = 0;        // of the input matrix, added up
  int64_t nodes = 0;       // whose unit was evaluated
  int64_t heap_steps = 0;  // nodes entered among the open ones or taken from them, labels offered to the list

  static constexpr int kFields = 5;
  void write(int64_t* out) const;
};

class HsReplay {
 public:
  explicit HsReplay(const HsEngine& engine) : engine_(engine) {}

  // The counts of a text's search; the nodes it evaluates are added to `visits`, in order.
  HsCounts count(std::string_view text, const HsOptions& options, std::vector<HsWorkspace::Open>& visits);

  // A part of a search: reads the text, adds its rows up if `sum`, and evaluates the units of nodes known beforehand.
  void evaluate(std::string_view text, bool sum, const int32_t* nodes, int64_t n);

 private:
  const float* sum_rows();                                // the mean of the vectors of the features read
  float second_share(int32_t node, const float* hidden);  // the probability of the second of a node's two children

  const HsEngine& engine_;
  HsWorkspace room_;
  std::vector<float> evaluated_;
};

}  // namespace labeltrees
