// Trains fastText's supervised hierarchical softmax on any binary tree, by stochastic gradient steps of threads without
// locks (Hogwild).
#pragma once

#include <atomic>
#include <cstdint>

#include "common/threads.hpp"
#include "text/features.hpp"
#include "text/hsoftmax_tree.hpp"
#include "text/source.hpp"

namespace labeltrees {

// The parameters of the model. A row is `stride` floats, a multiple of 16, and starts at a multiple of 64 bytes.
struct HsMatrices {
  float* input;   // (n_rows, stride)
  float* output;  // (n_nodes, stride)
  int64_t n_rows, n_nodes, dim, stride;
};

// The labels of texts in memory; null if they are in the lines of a file.
struct HsLabels {
  const int64_t* indptr = nullptr;
  const int32_t* labels = nullptr;
  const float* weights = nullptr;  // per text, with mean 1; null: all 1
};

struct HsSettings {
  float lr;
  int64_t epochs;
  uint64_t seed;
  int n_threads;
  bool shuffle;  // every epoch in another order; false: in order, as in fastText
};

// Can be read while training runs.
struct HsProgress {
  std::atomic<double> loss{0};  // mean over recent texts
};

// OUT: matrices.input, uniform in (-1/dim, 1/dim) and the same for any number of threads.
void start_input(const HsMatrices& matrices, uint64_t seed, int n_threads);

// IN: n_tokens, of one epoch. IN and OUT: matrices. job.done counts tokens. Only with one thread does the same seed
// give the same bytes.
void train_hsoftmax(const HsMatrices& matrices, const UpwardLinks& tree, const TextSource& source,
                    const FeatureMap& features, const HsLabels& labels, int64_t n_tokens, const HsSettings& settings,
                    Job& job, HsProgress& progress);

}  // namespace labeltrees
