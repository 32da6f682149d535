// Learns a vocabulary: the terms of the texts and the number of texts that have each.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "tfidf/analyzer.hpp"

namespace labeltrees {

// Terms sorted by code points: term i is text[ends[i] .. ends[i + 1]).
struct LearnedTerms {
  std::vector<uint8_t> text;
  std::vector<int64_t> ends;
  std::vector<int64_t> texts;        // number of texts with the term
  std::vector<int64_t> occurrences;  // of the term in all texts
  int64_t n_found = 0;               // different terms, including those outside the limits
};

constexpr int64_t kTextsPerBlock = 256;  // one task of a thread

// The terms that are in at least min_texts and at most max_texts texts. The result is the same for any number of
// threads.
LearnedTerms learn_terms(const TextAnalyzer& analyzer, const std::vector<TextView>& texts, double min_texts,
                         double max_texts, int n_threads, Job& job);

}  // namespace labeltrees
