// Turns a text into rows of the input matrix: its words and the buckets of its n-grams.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/threads.hpp"
#include "text/source.hpp"
#include "text/tokens.hpp"

namespace labeltrees::text {

struct TextSettings {
  int32_t word_ngrams;
  int32_t min_n, max_n;  // characters of subwords; max_n 0 for none
  int64_t n_buckets;     // 0 if there are no n-grams
  bool has_ngrams() const { return n_buckets > 0; }
};

// The vocabulary as flat arrays, possibly mapped from a file.
struct VocabularyView {
  const uint8_t* text;  // all words, then all labels, without separators
  int64_t n_bytes;
  const int64_t* ends;  // n_entries + 1
  int64_t n_entries;
  int64_t n_words;  // the entries after these are labels
  // Hash table with linear probing: id << 32 | hash, or -1 for an empty slot. The size is a power of two.
  const int64_t* slots;
  int64_t n_slots;

  // The entry of a word, or -1. The arrays are not trusted: nothing outside them is read.
  int32_t find(std::string_view word, uint32_t hash) const {
    for (int64_t probe = 0, at = hash & (n_slots - 1); probe < n_slots; ++probe, at = (at + 1) & (n_slots - 1)) {
      int64_t slot = slots[at];
      if (slot < 0) return -1;
      if (static_cast<uint32_t>(slot) != hash) continue;
      int64_t id = slot >> 32;
      if (id >= n_entries) continue;
      int64_t begin = ends[id], end = ends[id + 1];
      if (begin < 0 || end < begin || end > n_bytes) continue;
      if (word == std::string_view(reinterpret_cast<const char*>(text) + begin, end - begin)) return id;
    }
    return -1;
  }
};

// The row of each bucket. One 64-bit word covers 32 buckets: its lower half has a presence bit per bucket, its upper
// half the number of rows before. Two million buckets take half a megabyte, and an n-gram not seen in training costs no
// cache miss.
struct BucketRows {
  const uint64_t* words;
  int32_t find(int32_t bucket) const {  // -1 if the bucket has no row
    uint64_t word = words[bucket >> 5];
    uint32_t bit = uint32_t{1} << (bucket & 31), present = static_cast<uint32_t>(word);
    if (!(present & bit)) return -1;
    return static_cast<int32_t>(word >> 32) + __builtin_popcount(present & (bit - 1));
  }
};

struct TextFeatures {
  std::vector<int32_t> rows;    // of the input matrix
  std::vector<int32_t> labels;  // that are in the line
  int64_t n = 0;                // number of features, also those without a row: the divisor of the mean
  int64_t n_tokens = 0;         // number of words and labels
  std::vector<int32_t> hashes;  // scratch

  size_t held_bytes() const { return (rows.capacity() + labels.capacity() + hashes.capacity()) * sizeof(int32_t); }
};

class FeatureMap {
 public:
  FeatureMap(const VocabularyView& vocabulary, const BucketRows& buckets, const TextSettings& settings)
      : vocabulary_(vocabulary), buckets_(buckets), settings_(settings) {}

  // Reads one line and returns the number of bytes used (see for_each_word).
  size_t read(std::string_view line, bool ended, TextFeatures& out) const;

  const TextSettings& settings() const { return settings_; }
  const VocabularyView& vocabulary() const { return vocabulary_; }

 private:
  void add_bucket(int32_t bucket, TextFeatures& out) const {
    int32_t row = buckets_.find(bucket);
    ++out.n;
    if (row >= 0) out.rows.push_back(static_cast<int32_t>(vocabulary_.n_words) + row);
  }

  VocabularyView vocabulary_;
  BucketRows buckets_;
  TextSettings settings_;
};

struct BagSettings {
  int64_t min_texts_of_word, min_texts_of_ngram;  // features in fewer texts are left out
};

// CSR. A weight is (1 + log tf) (1 + log((1 + N) / (1 + df))); rows are scaled to unit length.
struct Bag {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> columns;  // ascending within a row
  std::vector<float> values;
  // Of a file: the labels of every text, ascending and distinct.
  std::vector<int64_t> label_indptr{0};
  std::vector<int32_t> labels;
};

// Turns texts into sparse tf-idf rows over the model's features, for the label embeddings of a tree. IN: n_rows, of the
// input matrix. Texts of a file without labels are left out.
Bag make_bag(const TextSource& source, const FeatureMap& features, int64_t n_rows, const BagSettings& settings,
             Job& job);

}  // namespace labeltrees::text
