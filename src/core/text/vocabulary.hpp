// Counts the words and labels of all texts and sorts them in fastText's order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/threads.hpp"
#include "text/features.hpp"
#include "text/source.hpp"

namespace labeltrees::text {

// The result of the first pass over the texts: the arrays of VocabularyView and BucketRows.
struct Vocabulary {
  std::vector<uint8_t> text;
  std::vector<int64_t> ends, counts, slots;
  std::vector<uint64_t> buckets;
  int64_t n_words = 0, n_labels = 0;
  int64_t n_tokens = 0;  // of all texts, including rare words
  int64_t n_lines = 0;
  int64_t n_bucket_rows = 0;

  VocabularyView view() const {
    return {text.data(),  static_cast<int64_t>(text.size()), ends.data(), static_cast<int64_t>(counts.size()), n_words,
            slots.data(), static_cast<int64_t>(slots.size())};
  }
};

// Words that occur fewer than min_count times are left out; labels never are. While there are more than max_entries
// entries, the rarest are dropped during counting, as in fastText (three quarters of 30 million). Labels are counted
// only in files, where they are in the lines.
Vocabulary count_words(const TextSource& source, const TextSettings& settings, int64_t min_count, int64_t max_entries,
                       Job& job);

// The hash table of VocabularyView for entries given as text and ends.
std::vector<int64_t> make_slots(const std::vector<uint8_t>& text, const std::vector<int64_t>& ends);

// Sets the upper halves of the words of BucketRows from their presence bits and returns the number of rows.
int64_t number_buckets(std::vector<uint64_t>& words);

}  // namespace labeltrees::text
