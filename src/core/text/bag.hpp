// Turns texts into sparse tf-idf rows over the model's features, for the label embeddings of a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "text/features.hpp"
#include "text/source.hpp"

namespace labeltrees {

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

// IN: n_rows, of the input matrix. Texts of a file without labels are left out.
Bag make_bag(const TextSource& source, const FeatureMap& features, int64_t n_rows, const BagSettings& settings,
             Job& job);

}  // namespace labeltrees
