// Turns texts into rows of tf-idf weights.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/memory.hpp"
#include "common/threads.hpp"
#include "tfidf/analyzer.hpp"
#include "tfidf/terms.hpp"

namespace labeltrees::tfidf {

enum class Norm { none, l1, l2 };

// A vocabulary; empty if terms are hashed to n_features buckets.
struct KnownTerms {
  const uint8_t* text = nullptr;
  int64_t n_text = 0;
  const int64_t* ends = nullptr;
  std::string source = {};  // for error messages
};

// weight = (1 + log count or count) * idf. T is the type of the weights and of all arithmetic except the norm, as in
// scikit-learn.
template <class T>
struct TermWeights {
  const T* idf = nullptr;   // per feature; null: 1
  const T* logs = nullptr;  // logs[c] = 1 + log c for counts c < n_logs; null: the counts themselves
  int64_t n_logs = 0;
};

struct VectorizerOptions {
  int64_t n_features = 0;
  Norm norm = Norm::l2;
  bool binary = false;
  bool single = false;  // float32 weights
};

struct FeatureCount {
  int32_t feature;
  int64_t count;
};

struct VectorizerScratch {
  AnalyzerScratch analyzer;
  std::vector<int32_t> features, spare;  // one feature per occurrence of a term
  std::vector<FeatureCount> counts;      // of a long text, instead of `features`
  int64_t n_unknown = 0;                 // terms not in the vocabulary, added up until a caller resets it
  // The features and weights of one text in the form of a query.
  std::vector<int32_t> row;
  std::vector<float> weights;

  size_t held_bytes() const {
    using labeltrees::held_bytes;
    return analyzer.held_bytes() + held_bytes(features) + held_bytes(spare) + held_bytes(counts) + held_bytes(row) +
           held_bytes(weights);
  }
};

class TextVectorizer {
 public:
  TextVectorizer(const TextAnalyzer& analyzer, const VectorizerOptions& options, const KnownTerms& vocabulary,
                 const TermWeights<float>& single, const TermWeights<double>& twice)
      : analyzer_(analyzer), options_(options), vocabulary_(vocabulary), single_(single), double_(twice) {}
  ~TextVectorizer() { delete index_.load(); }

  int64_t n_features() const { return options_.n_features; }
  bool single() const { return options_.single; }
  // Makes the index from terms to features on the first call. This also checks a vocabulary from a file.
  void require() const { index(); }

  // Appends the features of a text, ascending, and their weights. T is float if single(), else double.
  template <class T>
  void append(const TextView& text, VectorizerScratch& scratch, std::vector<int32_t>& features,
              std::vector<T>& weights) const;

  // counts[feature] += the number of texts that have it.
  void count_texts(const std::vector<TextView>& texts, int n_threads, Job& job, int64_t* counts) const;

 private:
  const TermIndex* index() const;
  // Calls use(feature, count) for each feature of a text, ascending.
  template <class Use>
  void each_feature(const TextView& text, VectorizerScratch& scratch, Use&& use) const;
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
};

template <class T>
struct TextRows {
  std::vector<int32_t> features;
  std::vector<T> weights;
};

struct UnionPart {
  const TextVectorizer* vectorizer;
  double weight;    // multiplied with its values
  int64_t reading;  // which view of a text it takes: the text itself, or the tokens that its own tokenizer made
};

// One or more vectorizers side by side: the features of a text are those of all of them, one after another.
class TextUnion {
 public:
  explicit TextUnion(std::vector<UnionPart> parts);

  int64_t n_features() const { return n_features_; }
  bool single() const { return parts_[0].vectorizer->single(); }
  const std::vector<UnionPart>& parts() const { return parts_; }
  // Makes the indexes from terms to features on the first call. This also checks vocabularies from a file.
  void require() const;

  // OUT: scratch.row and scratch.weights, the features and weights of one text; views: one per reading.
  void one_row(const TextView* views, VectorizerScratch& scratch) const;

  // The rows of the texts in blocks of kTextsPerBlock; views[reading][text]. OUT: lengths (number of texts), the
  // entries of each row.
  template <class T>
  std::vector<TextRows<T>> rows(const std::vector<const std::vector<TextView>*>& views, int n_threads, Job& job,
                                int64_t* lengths) const;

  using Scratches = ScratchPool<VectorizerScratch>;
  Scratches& scratches() const { return scratches_; }

 private:
  // Appends the features of a text, ascending, and their weights; view_of(reading) is its view.
  template <class T, class Views>
  void append(Views&& view_of, VectorizerScratch& scratch, std::vector<int32_t>& features,
              std::vector<T>& weights) const;

  std::vector<UnionPart> parts_;
  int64_t n_features_ = 0;
  mutable Scratches scratches_;
};

// A learned vocabulary. Terms are sorted by code points: term i is text[ends[i] .. ends[i + 1]).
struct LearnedTerms {
  std::vector<uint8_t> text;
  std::vector<int64_t> ends;
  std::vector<int64_t> texts;        // number of texts with the term
  std::vector<int64_t> occurrences;  // of the term in all texts
  int64_t n_found = 0;               // different terms, including those outside the limits
};

constexpr int64_t kTextsPerBlock = 256;  // one task of a thread

// Learns the terms that are in at least min_texts and at most max_texts texts. The result is the same for any number of
// threads.
LearnedTerms learn_terms(const TextAnalyzer& analyzer, const std::vector<TextView>& texts, double min_texts,
                         double max_texts, int n_threads, Job& job);

}  // namespace labeltrees::tfidf
