// Learning a vocabulary: which terms the texts have, and in how many of them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "tfidf/analyzer.hpp"

namespace labeltrees {

// A text as UTF-8; its memory belongs to a Python string that is kept alive.
struct TextView {
  const uint8_t* at;
  int64_t size;
};

// Terms sorted by code points: they stand end to end, term i from ends[i] to ends[i + 1].
struct LearntTerms {
  std::vector<uint8_t> text;
  std::vector<int64_t> ends;
  std::vector<int64_t> texts;        // that have the term
  std::vector<int64_t> occurrences;  // in all texts
  int64_t n_met = 0;                 // terms before the rare and the common ones were left out
};

constexpr int64_t texts_in_task = 256;  // handed to a thread at once

// Terms in at least `fewest` and at most `most` texts. The same for any number of threads: counts are sums, and the
// terms are sorted.
LearntTerms learn_terms(const TextAnalyzer& analyzer, const std::vector<TextView>& texts, double fewest, double most,
                        int n_threads, Job& job);

}  // namespace labeltrees
