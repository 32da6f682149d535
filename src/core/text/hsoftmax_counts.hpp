// Counts what searches of the text model do by replaying them, and times their parts. The searches themselves count
// nothing, because that would slow them down (docs/decisions/0016).
#pragma once

#include <cstdint>
#include <vector>

#include "text/hsoftmax_search.hpp"

namespace labeltrees {

struct HsCounts {
  int64_t bytes = 0;       // of the text
  int64_t features = 0;    // words and n-grams, including those without a row
  int64_t rows = 0;        // rows of the input matrix that are added up
  int64_t nodes = 0;       // nodes whose unit is evaluated
  int64_t heap_steps = 0;  // nodes pushed to the heap of open nodes or taken from it, labels offered to the results

  static constexpr int kFields = 5;
  void write(int64_t* out) const;
};

class HsReplay {
 public:
  explicit HsReplay(const HsEngine& engine) : engine_(engine) {}

  // The counts of a text's search; the nodes it evaluates are added to `visits`, in order.
  HsCounts count(std::string_view text, const SearchRequest& request, std::vector<HsScratch::Open>& visits);

  // A part of a search: reads the text, adds up its rows if `sum`, and evaluates the units of given nodes.
  void evaluate(std::string_view text, bool sum, const int32_t* nodes, int64_t n);

 private:
  void descend(HsScratch::Open at, const SearchRequest& request, const float* hidden, HsCounts& counts,
               std::vector<HsScratch::Open>& visits);

  const HsEngine& engine_;
  HsScratch scratch_;
  std::vector<float> evaluated_;
};

}  // namespace labeltrees
