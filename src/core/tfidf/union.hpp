// One or more vectorizers side by side: the features of a text are those of all of them, one after another.
#pragma once

#include "common/scratch_pool.hpp"
#include "tfidf/vectorizer.hpp"

namespace labeltrees {

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

}  // namespace labeltrees
