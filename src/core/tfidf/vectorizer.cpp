#include "tfidf/vectorizer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/hash.hpp"

namespace labeltrees::tfidf {

// Radix sort of numbers in [0, limit), from the lowest byte: std::sort took most of the time of rows with hundreds of
// features, such as character n-grams. Short rows use std::sort.
inline void sort_features(std::vector<int32_t>& values, std::vector<int32_t>& spare, int64_t limit) {
  size_t n = values.size();
  if (n < 48) {
    std::sort(values.begin(), values.end());
    return;
  }
  spare.resize(n);
  int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(limit, 2) - 1));
  for (int shift = 0; shift < bits; shift += 8) {
    uint32_t places[257] = {};
    for (int32_t value : values) ++places[(static_cast<uint32_t>(value) >> shift & 255) + 1];
    for (int digit = 0; digit < 256; ++digit) places[digit + 1] += places[digit];
    for (int32_t value : values) spare[places[static_cast<uint32_t>(value) >> shift & 255]++] = value;
    values.swap(spare);
  }
}

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

// Texts with more occurrences of terms count them in between, so that memory grows only with the different terms.
constexpr size_t kMostOccurrences = 1 << 16;

// Adds the occurrences so far to the counts.
void count_occurrences(VectorizerScratch& scratch, int64_t n_features) {
  std::vector<int32_t>& found = scratch.features;
  std::vector<FeatureCount>& counts = scratch.counts;
  sort_features(found, scratch.spare, n_features);
  std::vector<FeatureCount> merged;
  auto known = counts.begin();
  for (size_t i = 0; i < found.size();) {
    size_t end = i + 1;
    while (end < found.size() && found[end] == found[i]) ++end;
    auto count = static_cast<int64_t>(end - i);
    while (known != counts.end() && known->feature < found[i]) merged.push_back(*known++);
    if (known != counts.end() && known->feature == found[i]) count += (known++)->count;
    merged.push_back({found[i], count});
    i = end;
  }
  merged.insert(merged.end(), known, counts.end());
  counts.swap(merged);
  found.clear();
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
  scratch.counts.clear();
  auto count_many = [&] {
    if (features.size() >= std::max(kMostOccurrences, scratch.counts.size()))
      count_occurrences(scratch, options_.n_features);
  };
  const TermIndex* index = this->index();
  if (index == nullptr) {
    auto n_buckets = static_cast<uint64_t>(options_.n_features);
    analyzer_.analyze(text, scratch.analyzer, [&](const Term* terms, int n) {
      for (int i = 0; i < n; ++i)
        features.push_back(static_cast<int32_t>(xxh64(terms[i].at, terms[i].size) % n_buckets));
      count_many();
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
      count_many();
    });
  }
  if (scratch.counts.empty())
    sort_features(features, scratch.spare, options_.n_features);
  else
    count_occurrences(scratch, options_.n_features);
}

template <class Use>
void TextVectorizer::each_feature(const TextView& text, VectorizerScratch& scratch, Use&& use) const {
  find_features(text, scratch);
  for (const FeatureCount& own : scratch.counts) use(own.feature, own.count);
  const std::vector<int32_t>& found = scratch.features;
  for (size_t i = 0; i < found.size();) {
    size_t end = i + 1;
    while (end < found.size() && found[end] == found[i]) ++end;
    use(found[i], static_cast<int64_t>(end - i));
    i = end;
  }
}

template <class T>
void TextVectorizer::append(const TextView& text, VectorizerScratch& scratch, std::vector<int32_t>& features,
                            std::vector<T>& values) const {
  const TermWeights<T>& weights = this->weights<T>();
  size_t start = values.size();
  each_feature(text, scratch, [&](int32_t feature, int64_t count) {
    if (options_.binary) count = 1;
    T value = weights.logs ? log_count(weights, count) : static_cast<T>(count);
    if (weights.idf) value *= weights.idf[feature];
    features.push_back(feature);
    values.push_back(value);
  });
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
      each_feature(texts[text], scratches[thread], [&](int32_t feature, int64_t) {
        std::atomic_ref<int64_t>(counts[feature]).fetch_add(1, std::memory_order_relaxed);
      });
    }
    job.done += end - task * kTextsPerBlock;
  });
}

template void TextVectorizer::append<float>(const TextView&, VectorizerScratch&, std::vector<int32_t>&,
                                            std::vector<float>&) const;
template void TextVectorizer::append<double>(const TextView&, VectorizerScratch&, std::vector<int32_t>&,
                                             std::vector<double>&) const;

TextUnion::TextUnion(std::vector<UnionPart> parts) : parts_(std::move(parts)) {
  for (const UnionPart& part : parts_) n_features_ += part.vectorizer->n_features();
  if (n_features_ > INT32_MAX) throw std::length_error("the vectorizers have more than 2^31 - 1 features together");
}

void TextUnion::require() const {
  for (const UnionPart& part : parts_) part.vectorizer->require();
}

template <class T, class Views>
void TextUnion::append(Views&& view_of, VectorizerScratch& scratch, std::vector<int32_t>& features,
                       std::vector<T>& weights) const {
  int64_t offset = 0;
  for (const UnionPart& part : parts_) {
    size_t start = features.size();
    part.vectorizer->append<T>(view_of(part.reading), scratch, features, weights);
    if (offset > 0)
      for (size_t i = start; i < features.size(); ++i) features[i] += static_cast<int32_t>(offset);
    if (part.weight != 1)
      for (size_t i = start; i < features.size(); ++i) weights[i] *= static_cast<T>(part.weight);
    offset += part.vectorizer->n_features();
  }
}

void TextUnion::one_row(const TextView* views, VectorizerScratch& scratch) const {
  scratch.row.clear();
  scratch.weights.clear();
  auto view_of = [&](int64_t reading) { return views[reading]; };
  if (single()) {
    append<float>(view_of, scratch, scratch.row, scratch.weights);
    return;
  }
  std::vector<double> values;
  append<double>(view_of, scratch, scratch.row, values);
  scratch.weights.assign(values.begin(), values.end());
}

template <class T>
std::vector<TextRows<T>> TextUnion::rows(const std::vector<const std::vector<TextView>*>& views, int n_threads,
                                         Job& job, int64_t* lengths) const {
  require();
  auto n_texts = static_cast<int64_t>(views[0]->size());
  int64_t n_tasks = (n_texts + kTextsPerBlock - 1) / kTextsPerBlock;
  std::vector<TextRows<T>> rows(n_tasks);
  parallel_for(n_tasks, n_threads, [&](int64_t task, int) {
    job.check();
    Scratches::Borrowed scratch(scratches_);
    TextRows<T>& block = rows[task];
    int64_t end = std::min(n_texts, (task + 1) * kTextsPerBlock);
    for (int64_t text = task * kTextsPerBlock; text < end; ++text) {
      size_t before = block.features.size();
      auto view_of = [&](int64_t reading) { return (*views[reading])[text]; };
      append<T>(view_of, *scratch, block.features, block.weights);
      lengths[text] = static_cast<int64_t>(block.features.size() - before);
    }
    job.done += end - task * kTextsPerBlock;
  });
  return rows;
}

template std::vector<TextRows<float>> TextUnion::rows<float>(const std::vector<const std::vector<TextView>*>&, int,
                                                             Job&, int64_t*) const;
template std::vector<TextRows<double>> TextUnion::rows<double>(const std::vector<const std::vector<TextView>*>&, int,
                                                               Job&, int64_t*) const;

namespace {

// A thread's terms, divided into parts by hash, so that different parts can be merged in parallel.
constexpr int kPartBits = 6;
constexpr int kParts = 1 << kPartBits;
using Parts = std::array<TermTable, kParts>;

struct Sortable {
  uint64_t start;  // the first 8 bytes, big-endian
  const uint8_t* at;
  int64_t size;
  int64_t texts, occurrences;

  bool operator<(const Sortable& other) const {
    if (start != other.start) return start < other.start;
    int order = std::memcmp(at, other.at, static_cast<size_t>(std::min(size, other.size)));
    return order != 0 ? order < 0 : size < other.size;
  }
};

uint64_t first_bytes(const uint8_t* at, int64_t n) {
  uint64_t value = 0;
  for (int64_t i = 0; i < 8; ++i) value = value << 8 | (i < n ? at[i] : 0);
  return value;
}

void sort_terms(std::vector<Sortable>& terms, int n_threads) {
  auto n = static_cast<int64_t>(terms.size());
  int64_t n_runs = std::min<int64_t>(n_threads, std::max<int64_t>(n / 4096, 1));
  std::vector<int64_t> bounds;
  for (int64_t run = 0; run <= n_runs; ++run) bounds.push_back(n * run / n_runs);
  auto at = [&](int64_t place) { return terms.begin() + place; };
  parallel_for(n_runs, n_threads, [&](int64_t run, int) { std::sort(at(bounds[run]), at(bounds[run + 1])); });
  while (bounds.size() > 2) {
    auto pairs = static_cast<int64_t>(bounds.size() - 1) / 2;
    parallel_for(pairs, n_threads, [&](int64_t pair, int) {
      std::inplace_merge(at(bounds[2 * pair]), at(bounds[2 * pair + 1]), at(bounds[2 * pair + 2]));
    });
    std::vector<int64_t> merged;
    for (size_t i = 0; i < bounds.size(); i += 2) merged.push_back(bounds[i]);
    if (merged.back() != n) merged.push_back(n);
    bounds.swap(merged);
  }
}

}  // namespace

LearnedTerms learn_terms(const TextAnalyzer& analyzer, const std::vector<TextView>& texts, double min_texts,
                         double max_texts, int n_threads, Job& job) {
  auto n_texts = static_cast<int64_t>(texts.size());
  n_threads = std::max(n_threads, 1);
  std::vector<Parts> found(n_threads);
  std::vector<AnalyzerScratch> scratches(n_threads);
  parallel_for((n_texts + kTextsPerBlock - 1) / kTextsPerBlock, n_threads, [&](int64_t task, int thread) {
    job.check();
    Parts& parts = found[thread];
    int64_t end = std::min(n_texts, (task + 1) * kTextsPerBlock);
    for (int64_t text = task * kTextsPerBlock; text < end; ++text)
      analyzer.analyze(texts[text], scratches[thread], [&](const Term* terms, int n) {
        TermHash hashes[TermBlock::kCapacity];
        for (int i = 0; i < n; ++i) {
          hashes[i] = hash_term(terms[i].at, terms[i].size);
          parts[hashes[i].hash >> (64 - kPartBits)].prefetch(hashes[i]);
        }
        for (int i = 0; i < n; ++i) parts[hashes[i].hash >> (64 - kPartBits)].count(terms[i], hashes[i], text);
      });
    job.done += end - task * kTextsPerBlock;
  });

  std::array<std::vector<Sortable>, kParts> kept;
  parallel_for(kParts, n_threads, [&](int64_t part, int) {
    job.check();
    TermTable& table = found[0][part];
    for (int thread = 1; thread < n_threads; ++thread) {
      table.merge(found[thread][part]);
      found[thread][part].release();
    }
    for (const TermTable::Entry& entry : table.entries()) {
      auto count = static_cast<double>(entry.texts);
      if (count < min_texts || count > max_texts) continue;
      const uint8_t* at = table.text() + entry.begin;
      kept[part].push_back({first_bytes(at, entry.size), at, entry.size, entry.texts, entry.occurrences});
    }
  });

  LearnedTerms learned;
  std::vector<Sortable> terms;
  for (int part = 0; part < kParts; ++part) {
    learned.n_found += static_cast<int64_t>(found[0][part].entries().size());
    terms.insert(terms.end(), kept[part].begin(), kept[part].end());
    std::vector<Sortable>().swap(kept[part]);
  }
  if (terms.size() > INT32_MAX)
    throw std::length_error("the texts have more than 2^31 - 1 different terms; raise min_df");
  sort_terms(terms, n_threads);
  learned.ends.reserve(terms.size() + 1);
  learned.ends.push_back(0);
  for (const Sortable& term : terms) {
    learned.text.insert(learned.text.end(), term.at, term.at + term.size);
    learned.ends.push_back(static_cast<int64_t>(learned.text.size()));
    learned.texts.push_back(term.texts);
    learned.occurrences.push_back(term.occurrences);
  }
  return learned;
}

}  // namespace labeltrees::tfidf
