#include "tfidf/learn.hpp"

#include <array>
#include <atomic>

namespace labeltrees {

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

}  // namespace labeltrees
