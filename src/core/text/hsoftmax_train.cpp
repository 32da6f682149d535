#include "text/hsoftmax_train.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "common/memory.hpp"
#include "common/random.hpp"
#include "simd/kernels.hpp"

namespace labeltrees::text {

namespace {

constexpr int64_t kTokensBetweenUpdates = 100;  // updates of the learning rate, as in fastText
constexpr int64_t kRowsPerTurn = 2;             // rows to change and rows to prefetch, in turns

// A text that is ready for its step: its rows and the path to the label drawn for it.
struct Example {
  TextFeatures features;
  std::vector<int32_t> nodes;
  std::vector<float> codes;
  float weight = 0;  // 0: no step
};

class Worker {
 public:
  Worker(const HsMatrices& matrices, const UpwardLinks& tree, TextReader& reader, const FeatureMap& features,
         const HsLabels& labels, uint64_t seed, int number)
      : matrices_(matrices),
        tree_(tree),
        features_(features),
        labels_(labels),
        kernels_(simd::active_kernels().text),
        reader_(reader),
        random_(static_cast<std::minstd_rand::result_type>((seed + static_cast<uint64_t>(number)) % 2147483646)),
        hidden_(matrices.stride),
        gradient_(matrices.stride) {
    has_next_ = prepare(next_);
  }

  bool has_next() const { return has_next_; }

  // Makes one step and returns the number of tokens of its text.
  int64_t step(float lr) {
    std::swap(now_, next_);
    has_next_ = prepare(next_);  // one text ahead, so that its rows can be prefetched during this step
    if (now_.weight > 0) update(now_, lr * now_.weight);
    return now_.features.n_tokens;
  }

  double loss_sum = 0;
  int64_t n_steps = 0;

 private:
  // Reads the next text, draws one of its labels and prefetches the nodes it needs. Returns false after the last text.
  bool prepare(Example& example) {
    example.weight = 0;
    TextLine line;
    if (!reader_.next(line)) return false;
    size_t n_read = features_.read(line.text, line.ended, example.features);
    if (n_read < line.size()) reader_.unread(n_read);
    const int32_t* labels = example.features.labels.data();
    auto n_labels = static_cast<int64_t>(example.features.labels.size());
    float weight = 1;
    if (labels_.indptr != nullptr) {
      labels = labels_.labels + labels_.indptr[line.number];
      n_labels = labels_.indptr[line.number + 1] - labels_.indptr[line.number];
      example.features.n_tokens += n_labels;
      if (labels_.weights != nullptr) weight = labels_.weights[line.number];
    }
    if (n_labels == 0 || example.features.n == 0) return true;
    const int32_t label = labels[std::uniform_int_distribution<>(0, static_cast<int>(n_labels) - 1)(random_)];
    if (!tree_.is_placed(label)) return true;
    tree_.path(label, example.nodes, example.codes);
    example.weight = weight;
    for (int32_t node : example.nodes) prefetch(matrices_.output, node);
    return true;
  }

  void prefetch(const float* rows, int32_t row) const {
    const float* at = rows + row * matrices_.stride;
    for (int64_t i = 0; i < matrices_.stride; i += 16) __builtin_prefetch(at + i, 1, 2);
  }

  // With h the mean of the text's rows, w_j the nodes of the path, c_j their codes and z_j = h . w_j, the loss is
  //   -sum_j log p_j,  p_j = sigmoid(z_j) if c_j = 1 and 1 - sigmoid(z_j) if c_j = 0.
  // With g_j = lr (c_j - sigmoid(z_j)), the step is w_j += g_j h, and each row += (sum_j g_j w_j) / n.
  void update(const Example& example, float lr) {
    const int32_t* rows = example.features.rows.data();
    const auto n_rows = static_cast<int64_t>(example.features.rows.size());
    const auto depth = static_cast<int64_t>(example.nodes.size());
    const float share = 1.0f / static_cast<float>(example.features.n);
    kernels_.sum_rows(matrices_.input, matrices_.stride, rows, n_rows, hidden_.data());
    for (int64_t i = 0; i < matrices_.stride; ++i) hidden_[i] *= share;
    const auto padded = static_cast<size_t>(depth + 15);  // the kernels write groups of 16
    if (margins_.size() < padded) margins_.resize(padded), steps_.resize(padded);
    kernels_.dot_rows(matrices_.output, matrices_.stride, example.nodes.data(), depth, hidden_.data(), margins_.data());
    kernels_.sigmoids(margins_.data(), depth, steps_.data());  // exact and fast: fastText uses a table
    float likelihood = 1;
    for (int64_t j = 0; j < depth; ++j) {
      const float chosen = example.codes[j] > 0 ? steps_[j] : 1.0f - steps_[j];
      likelihood = std::max(likelihood * chosen, 1e-30f);
      steps_[j] = lr * (example.codes[j] - steps_[j]);
    }
    loss_sum -= std::log(likelihood);
    ++n_steps;
    std::fill_n(gradient_.data(), matrices_.stride, 0.0f);
    kernels_.step_rows(matrices_.output, matrices_.stride, example.nodes.data(), steps_.data(), depth, hidden_.data(),
                       gradient_.data());
    for (int64_t i = 0; i < matrices_.stride; ++i) gradient_[i] *= share;
    add_to_rows(rows, n_rows);
  }

  // Adds the gradient to the text's rows and prefetches the rows of the next text. The two alternate every few rows:
  // many consecutive prefetches would wait for memory.
  void add_to_rows(const int32_t* rows, int64_t n_rows) {
    const std::vector<int32_t>& later = next_.features.rows;
    const auto n_later = has_next_ && next_.weight > 0 ? static_cast<int64_t>(later.size()) : 0;
    for (int64_t at = 0; at < std::max(n_rows, n_later); at += kRowsPerTurn) {
      for (int64_t i = at; i < std::min(n_later, at + kRowsPerTurn); ++i) prefetch(matrices_.input, later[i]);
      if (at >= n_rows) continue;
      const int64_t n = std::min(kRowsPerTurn, n_rows - at);
      kernels_.add_to_rows(matrices_.input, matrices_.stride, rows + at, n, gradient_.data());
    }
  }

  const HsMatrices& matrices_;
  const UpwardLinks& tree_;
  const FeatureMap& features_;
  const HsLabels& labels_;
  const simd::TextKernels& kernels_;
  TextReader& reader_;
  std::minstd_rand random_;
  AlignedScratch<float> hidden_, gradient_;
  std::vector<float> margins_, steps_;
  Example now_, next_;
  bool has_next_;
};

}  // namespace

void start_input(const HsMatrices& matrices, uint64_t seed, int n_threads) {
  constexpr int64_t kRows = 4096;
  const float range = 1.0f / static_cast<float>(matrices.dim);
  parallel_for((matrices.n_rows + kRows - 1) / kRows, n_threads, [&](int64_t block, int) {
    Random random(seed, static_cast<uint64_t>(block));
    const int64_t end = std::min(matrices.n_rows, (block + 1) * kRows);
    for (int64_t row = block * kRows; row < end; ++row) {
      float* values = matrices.input + row * matrices.stride;
      for (int64_t i = 0; i < matrices.dim; ++i)
        values[i] = (static_cast<float>(random.next() >> 40) * 0x1p-23f - 1.0f) * range;
    }
  });
}

void train_hsoftmax(const HsMatrices& matrices, const UpwardLinks& tree, const TextSource& source,
                    const FeatureMap& features, const HsLabels& labels, int64_t n_tokens, const HsSettings& settings,
                    Job& job, HsProgress& progress) {
  const int64_t total = settings.epochs * n_tokens;
  // Without shuffling, readers have no end: training ends when all threads together have read epochs * n_tokens tokens.
  const TextReaders readers = settings.shuffle ? source.shuffled({settings.epochs, settings.seed, settings.n_threads})
                                               : source.circles(settings.n_threads);
  auto work = [&](int64_t number) {
    Worker worker(matrices, tree, *readers[number], features, labels, settings.seed, static_cast<int>(number));
    int64_t unreported = 0;
    for (; worker.has_next(); job.check()) {
      const int64_t done = job.done.load(std::memory_order_relaxed);
      if (done >= total) break;
      const double share = static_cast<double>(done) / static_cast<double>(total);
      unreported += worker.step(settings.lr * static_cast<float>(1.0 - share));
      if (unreported <= kTokensBetweenUpdates) continue;
      job.done.fetch_add(unreported, std::memory_order_relaxed);
      unreported = 0;
      if (number == 0 && worker.n_steps >= 10000) {
        progress.loss = worker.loss_sum / static_cast<double>(worker.n_steps);
        worker.loss_sum = 0, worker.n_steps = 0;
      }
    }
    job.done.fetch_add(unreported, std::memory_order_relaxed);
    if (number == 0 && worker.n_steps > 0 && (progress.loss == 0 || worker.n_steps >= 1000))
      progress.loss = worker.loss_sum / static_cast<double>(worker.n_steps);
  };
  parallel_for(settings.n_threads, settings.n_threads, [&](int64_t number, int) {
    try {
      work(number);
    } catch (...) {
      job.cancel = true;  // stops the other threads
      throw;
    }
  });
}

}  // namespace labeltrees::text
