#include "tfidf/learn.hpp"

#include <array>
#include <atomic>

namespace labeltrees {

namespace {

// A thread's terms in parts by their hash, so that the parts of all threads can be merged side by side.
constexpr int part_bits = 6;
constexpr int n_parts = 1 << part_bits;
using Parts = std::array<TermTable, n_parts>;

struct Sortable {
  uint64_t start;  // the first 8 bytes, the first of them the highest
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

LearntTerms learn_terms(const TextAnalyzer& analyzer, const std::vector<TextView>& texts, double fewest, double most,
                        int n_threads, Job& job) {
  auto n_texts = static_cast<int64_t>(texts.size());
  n_threads = std::max(n_threads, 1);
  std::vector<Parts> found(n_threads);
  std::vector<AnalyzerScratch> scratches(n_threads);
  parallel_for((n_texts + texts_in_task - 1) / texts_in_task, n_threads, [&](int64_t task, int thread) {
    job.check();
    Parts& parts = found[thread];
    int64_t end = std::min(n_texts, (task + 1) * texts_in_task);
    for (int64_t text = task * texts_in_task; text < end; ++text)
      analyzer.analyze(texts[text].at, texts[text].size, scratches[thread], [&](const Term* terms, int n) {
        TermHash hashes[TermBlock::capacity];
        for (int i = 0; i < n; ++i) {
          hashes[i] = hash_term(terms[i].at, terms[i].size);
          parts[hashes[i].hash >> (64 - part_bits)].prefetch(hashes[i]);
        }
        for (int i = 0; i < n; ++i) parts[hashes[i].hash >> (64 - part_bits)].count(terms[i], hashes[i], text);
      });
    job.done += end - task * texts_in_task;
  });

  std::array<std::vector<Sortable>, n_parts> kept;
  parallel_for(n_parts, n_threads, [&](int64_t part, int) {
    job.check();
    TermTable& table = found[0][part];
    for (int thread = 1; thread < n_threads; ++thread) {
      table.merge(found[thread][part]);
      found[thread][part].release();
    }
    for (const TermTable::Entry& entry : table.entries()) {
      auto count = static_cast<double>(entry.texts);
      if (count < fewest || count > most) continue;
      const uint8_t* at = table.text() + entry.begin;
      kept[part].push_back({first_bytes(at, entry.size), at, entry.size, entry.texts, entry.occurrences});
    }
  });

  LearntTerms learnt;
  std::vector<Sortable> terms;
  for (int part = 0; part < n_parts; ++part) {
    learnt.n_met += static_cast<int64_t>(found[0][part].entries().size());
    terms.insert(terms.end(), kept[part].begin(), kept[part].end());
    std::vector<Sortable>().swap(kept[part]);
  }
  if (terms.size() > INT32_MAX) throw std::length_error("too many different terms");
  sort_terms(terms, n_threads);
  learnt.ends.reserve(terms.size() + 1);
  learnt.ends.push_back(0);
  for (const Sortable& term : terms) {
    learnt.text.insert(learnt.text.end(), term.at, term.at + term.size);
    learnt.ends.push_back(static_cast<int64_t>(learnt.text.size()));
    learnt.texts.push_back(term.texts);
    learnt.occurrences.push_back(term.occurrences);
  }
  return learnt;
}

}  // namespace labeltrees
