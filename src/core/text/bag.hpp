// Texts as sparse rows of tf-idf weights over the model's own features, for the label embeddings of a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.hpp"
#include "text/features.hpp"
#include "text/source.hpp"

namespace labeltrees {

struct BagSettings {
  int64_t least_of_word, least_of_ngram;  // features of fewer texts are left out
};

// CSR. A weight is (1 + log tf)(1 + log((1 + N) / (1 + df))); rows have unit length.
struct Bag {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> columns;  // rising within a row
  std::vector<float> values;
  // In a file, the labels of every text, rising and distinct.
  std::vector<int64_t> label_indptr{0};
  std::vector<int32_t> labels;
};

// `n_rows` of the input matrix. Texts without labels are left out of a file's bag.
Bag make_bag(const TextSource& source, const FeatureMap& features, int64_t n_rows, const BagSettings& settings,
             Job& job);

}  // namespace labeltrees
