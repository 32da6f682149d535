// From texts to rows of tf-idf weights.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/scratch_pool.hpp"
#include "tfidf/analyzer.hpp"
#include "tfidf/learn.hpp"

namespace labeltrees {

enum class Norm { none, l1, l2 };

// A vocabulary, or none where terms are hashed to n_features buckets.
struct KnownTerms {
  const uint8_t* text = nullptr;
  int64_t n_text = 0;
  const int64_t* ends = nullptr;
  std::string source = {};  // for messages
};

// How counts become weights. T is the type of the weights, and of all arithmetic but the norm's, as in scikit-learn.
template <class T>
struct TermWeights {
  const T* idf = nullptr;   // by feature; null: 1
  const T* logs = nullptr;  // logs[c] = 1 + log c for the counts below n_logs; null: counts as they are
  int64_t n_logs = 0;
};

struct VectorizerOptions {
  int64_t n_features = 0;
  Norm norm = Norm::l2;
  bool binary = false;
  bool single = false;  // float32 weights
};

struct VectorizerScratch {
  AnalyzerScratch analyzer;
  std::vector<int32_t> features, spare;
  std::vector<int32_t> row;
  std::vector<float> weights;
};

template <class T>
struct TextRows {
  std::vector<int32_t> features;
  std::vector<T> weights;
};

class TextVectorizer {
 public:
  TextVectorizer(const TextAnalyzer& analyzer, const VectorizerOptions& options, const KnownTerms& vocabulary,
                 const TermWeights<float>& single, const TermWeights<double>& twice)
      : analyzer_(analyzer), options_(options), vocabulary_(vocabulary), single_(single), double_(twice) {}
  ~TextVectorizer() { delete index_.load(); }

  int64_t n_features() const { return options_.n_features; }
  bool single() const { return options_.single; }
  // Makes the index from terms to features, if it is not there yet; a vocabulary from a file is checked by that.
  void require() const { index(); }

  // Appends the features of a text, rising, and their weights; T as `single` tells.
  template <class T>
  void append(const TextView& text, VectorizerScratch& scratch, std::vector<int32_t>& features,
              std::vector<T>& weights) const;

  // The same for one text as a search takes it; the row is in the scratch.
  void one_row(const TextView& text, VectorizerScratch& scratch) const;

  // counts[feature] += the number of texts that have it.
  void count_texts(const std::vector<TextView>& texts, int n_threads, Job& job, int64_t* counts) const;

  // The rows of texts, by task of texts_in_task texts; lengths[i] = the entries of row i.
  template <class T>
  std::vector<TextRows<T>> rows(const std::vector<TextView>& texts, int n_threads, Job& job, int64_t* lengths) const;

  using Scratches = ScratchPool<VectorizerScratch>;
  Scratches& scratches() const { return scratches_; }

 private:
  const TermIndex* index() const;
  void find_features(const TextView& text, VectorizerScratch& scratch) const;
  template <class T>
  const TermWeights<T>& weights() const {
    if constexpr (sizeof(T) == 4)
      return single_;
    else
      return double_;
  }

  const TextAnalyzer& analyzer_;
  VectorizerOptions options_;
  KnownTerms vocabulary_;
  TermWeights<float> single_;
  TermWeights<double> double_;
  mutable std::atomic<const TermIndex*> index_{nullptr};
  mutable Scratches scratches_;
};

}  // namespace labeltrees
