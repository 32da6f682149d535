// fastText's supervised hierarchical softmax on any binary tree: stochastic gradient steps by threads that do not wait
// for each other ("hogwild").
#pragma once

#include <atomic>
#include <cstdint>

#include "common/threads.hpp"
#include "text/features.hpp"
#include "text/hsoftmax_tree.hpp"
#include "text/source.hpp"

namespace labeltrees {

// The parameters of the model. Rows are `stride` floats, a multiple of 16, beginning at multiples of 64 bytes.
struct HsMatrices {
  float* input;   // (n_rows, stride)
  float* output;  // (n_nodes, stride)
  int64_t n_rows, n_nodes, dim, stride;
};

// The labels of texts in memory; null where they stand in the file.
struct HsLabels {
  const int64_t* indptr = nullptr;
  const int32_t* labels = nullptr;
  const float* weights = nullptr;  // of the texts, mean 1; null for equal
};

struct HsSettings {
  float lr;
  int64_t epochs;
  uint64_t seed;
  int n_threads;
};

// What can be seen of a training under way.
struct HsProgress {
  std::atomic<double> loss{0};  // mean over the texts since the last look
};

// Fills the input with uniform(-1/dim, 1/dim), the same for any number of threads. The output starts as it is: zeros.
void start_input(const HsMatrices& matrices, uint64_t seed, int n_threads);

// `n_tokens` of one epoch. job.done counts tokens. Same bytes for the same seed with one thread only.
void train_hsoftmax(const HsMatrices& matrices, const UpwardLinks& tree, const TextSource& source,
                    const FeatureMap& features, const HsLabels& labels, int64_t n_tokens, const HsSettings& settings,
                    Job& job, HsProgress& progress);

}  // namespace labeltrees
