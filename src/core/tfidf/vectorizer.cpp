#include "tfidf/vectorizer.hpp"

#include <cmath>

#include "chunk/feature_sort.hpp"
#include "common/hash.hpp"

namespace labeltrees {

namespace {

// 1 + log(count). The table has NumPy's own logarithms, for equal results, and is faster.
template <class T>
T log_count(const TermWeights<T>& weights, int64_t count) {
  if (count < weights.n_logs) return weights.logs[count];
  return static_cast<T>(std::log(static_cast<double>(count))) + T{1};
}

template <class T>
void scale(T* values, int64_t n, Norm norm) {
  double sum = 0;
  if (norm == Norm::l2) {
    for (int64_t i = 0; i < n; ++i) sum += values[i] * values[i];
    sum = std::sqrt(sum);
  } else {
    for (int64_t i = 0; i < n; ++i) sum += std::abs(values[i]);
  }
  if (sum == 0) return;
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<T>(values[i] / sum);
}

}  // namespace

// No lock: if two threads make the index at the same time, one of them discards its own.
const TermIndex* TextVectorizer::index() const {
  const TermIndex* known = index_.load(std::memory_order_acquire);
  if (known != nullptr || vocabulary_.ends == nullptr) return known;
  std::unique_ptr<const TermIndex> made;
  try {
    made =
        std::make_unique<const TermIndex>(vocabulary_.text, vocabulary_.n_text, vocabulary_.ends, options_.n_features);
  } catch (const DamagedTerms& fault) {
    throw DamagedTerms(vocabulary_.source + ": " + fault.what());
  }
  if (index_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return made.release();
  return known;
}

void TextVectorizer::find_features(const TextView& text, VectorizerScratch& scratch) const {
  std::vector<int32_t>& features = scratch.features;
  features.clear();
  const TermIndex* index = this->index();
  if (index == nullptr) {
    auto n_buckets = static_cast<uint64_t>(options_.n_features);
    analyzer_.analyze(text, scratch.analyzer, [&](const Term* terms, int n) {
      for (int i = 0; i < n; ++i)
        features.push_back(static_cast<int32_t>(xxh64(terms[i].at, terms[i].size) % n_buckets));
    });
  } else {
    analyzer_.analyze(text, scratch.analyzer, [&](const Term* terms, int n) {
      TermHash hashes[TermBlock::kCapacity];
      for (int i = 0; i < n; ++i) {
        hashes[i] = hash_term(terms[i].at, terms[i].size);
        index->prefetch(hashes[i]);
      }
      for (int i = 0; i < n; ++i) {
        int32_t feature = index->find(terms[i].at, terms[i].size, hashes[i]);
        if (feature >= 0)
          features.push_back(feature);
        else
          ++scratch.n_unknown;
      }
    });
  }
  sort_features(features, scratch.spare, options_.n_features);
}

template <class T>
void TextVectorizer::append(const TextView& text, VectorizerScratch& scratch, std::vector<int32_t>& features,
                            std::vector<T>& values) const {
  find_features(text, scratch);
  const TermWeights<T>& weights = this->weights<T>();
  const std::vector<int32_t>& found = scratch.features;
  size_t start = values.size();
  for (size_t i = 0; i < found.size();) {
    size_t end = i + 1;
    while (end < found.size() && found[end] == found[i]) ++end;
    auto count = static_cast<int64_t>(options_.binary ? 1 : end - i);
    T value = weights.logs ? log_count(weights, count) : static_cast<T>(count);
    if (weights.idf) value *= weights.idf[found[i]];
    features.push_back(found[i]);
    values.push_back(value);
    i = end;
  }
  if (options_.norm != Norm::none)
    scale(values.data() + start, static_cast<int64_t>(values.size() - start), options_.norm);
}

void TextVectorizer::count_texts(const std::vector<TextView>& texts, int n_threads, Job& job, int64_t* counts) const {
  require();
  auto n_texts = static_cast<int64_t>(texts.size());
  std::vector<VectorizerScratch> scratches(std::max(n_threads, 1));
  parallel_for((n_texts + kTextsPerBlock - 1) / kTextsPerBlock, n_threads, [&](int64_t task, int thread) {
    job.check();
    int64_t end = std::min(n_texts, (task + 1) * kTextsPerBlock);
    for (int64_t text = task * kTextsPerBlock; text < end; ++text) {
      find_features(texts[text], scratches[thread]);
      const std::vector<int32_t>& found = scratches[thread].features;
      for (size_t i = 0; i < found.size(); ++i)
        if (i == 0 || found[i] != found[i - 1])
          std::atomic_ref<int64_t>(counts[found[i]]).fetch_add(1, std::memory_order_relaxed);
    }
    job.done += end - task * kTextsPerBlock;
  });
}

template void TextVectorizer::append<float>(const TextView&, VectorizerScratch&, std::vector<int32_t>&,
                                            std::vector<float>&) const;
template void TextVectorizer::append<double>(const TextView&, VectorizerScratch&, std::vector<int32_t>&,
                                             std::vector<double>&) const;
}  // namespace labeltrees
