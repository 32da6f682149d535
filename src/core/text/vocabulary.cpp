#include "text/vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace labeltrees::text {

namespace {

struct Entry {
  int64_t begin;  // in the text of all entries
  int32_t length;
  uint32_t hash;
  int64_t count;
  bool is_label;
};

class Counter {
 public:
  explicit Counter(int64_t max_entries) : max_entries_(max_entries), slots_(1 << 16, -1) {}

  void add(std::string_view word, uint32_t hash, bool is_label) {
    const auto mask = static_cast<int64_t>(slots_.size()) - 1;
    int64_t at = hash & mask;
    for (; slots_[at] >= 0; at = (at + 1) & mask) {
      if (static_cast<uint32_t>(slots_[at]) != hash) continue;
      Entry& entry = entries_[slots_[at] >> 32];
      if (word_of(entry) == word) {
        ++entry.count;
        return;
      }
    }
    slots_[at] = static_cast<int64_t>(entries_.size()) << 32 | hash;
    entries_.push_back({static_cast<int64_t>(text_.size()), static_cast<int32_t>(word.size()), hash, 1, is_label});
    text_.insert(text_.end(), word.begin(), word.end());
    if (2 * entries_.size() > slots_.size()) fill_slots(2 * slots_.size());
    if (static_cast<int64_t>(entries_.size()) > max_entries_) {
      ++least_;
      keep(least_, least_);
    }
  }

  // Sorts words before labels and by falling count, and drops rare entries. The order of equal counts is what std::sort
  // gives, as in fastText.
  void keep(int64_t least_word, int64_t least_label) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.is_label != b.is_label ? a.is_label < b.is_label : a.count > b.count;
    });
    std::erase_if(entries_, [&](const Entry& e) { return e.count < (e.is_label ? least_label : least_word); });
    std::vector<uint8_t> text;
    for (Entry& entry : entries_) {
      auto begin = static_cast<int64_t>(text.size());
      text.insert(text.end(), text_.begin() + entry.begin, text_.begin() + entry.begin + entry.length);
      entry.begin = begin;
    }
    text_ = std::move(text);
    fill_slots(std::bit_ceil(std::max<size_t>(2 * entries_.size(), 16)));
  }

  void move_to(Vocabulary& vocabulary) {
    vocabulary.ends.assign(1, 0);
    for (const Entry& entry : entries_) {
      vocabulary.ends.push_back(entry.begin + entry.length);
      vocabulary.counts.push_back(entry.count);
      (entry.is_label ? vocabulary.n_labels : vocabulary.n_words)++;
    }
    vocabulary.text = std::move(text_);
    vocabulary.slots = std::move(slots_);
  }

 private:
  std::string_view word_of(const Entry& entry) const {
    return {reinterpret_cast<const char*>(text_.data()) + entry.begin, static_cast<size_t>(entry.length)};
  }
  void fill_slots(size_t n) {
    slots_.assign(n, -1);
    const auto mask = static_cast<int64_t>(n) - 1;
    for (size_t id = 0; id < entries_.size(); ++id) {
      int64_t at = entries_[id].hash & mask;
      while (slots_[at] >= 0) at = (at + 1) & mask;
      slots_[at] = static_cast<int64_t>(id) << 32 | entries_[id].hash;
    }
  }

  int64_t max_entries_, least_ = 1;
  std::vector<Entry> entries_;
  std::vector<uint8_t> text_;
  std::vector<int64_t> slots_;
};

}  // namespace

Vocabulary count_words(const TextSource& source, const TextSettings& settings, int64_t min_count, int64_t max_entries,
                       Job& job) {
  Vocabulary vocabulary;
  vocabulary.buckets.assign(static_cast<size_t>(settings.n_buckets / 32 + 1), 0);
  auto mark = [&](int32_t bucket) { vocabulary.buckets[bucket >> 5] |= uint64_t{1} << (bucket & 31); };
  Counter counter(max_entries);
  std::vector<int32_t> hashes;
  std::string bracketed;
  auto reader = source.reader();
  for (TextLine line; reader->next(line);) {
    hashes.clear();
    size_t n_read = for_each_word(line.text, line.ended, [&](std::string_view word, uint32_t hash) {
      ++vocabulary.n_tokens;
      const bool is_label = has_label_prefix(word);
      if (!is_label || source.has_labels_in_lines()) counter.add(word, hash, is_label);
      if (is_label || !settings.has_ngrams()) return;
      hashes.push_back(static_cast<int32_t>(hash));
      if (settings.max_n > 0 && word != kLineEnd) {
        bracketed.assign(1, '<').append(word).push_back('>');
        for_each_subword(bracketed, settings.min_n, settings.max_n, settings.n_buckets, mark);
      }
    });
    if (n_read < line.size()) reader->unread(n_read);
    if (settings.word_ngrams > 1 && settings.has_ngrams())
      for_each_word_ngram(hashes.data(), static_cast<int64_t>(hashes.size()), settings.word_ngrams, settings.n_buckets,
                          mark);
    ++vocabulary.n_lines;
    job.done.fetch_add(static_cast<int64_t>(n_read), std::memory_order_relaxed);
    job.check();
  }
  counter.keep(min_count, 0);
  counter.move_to(vocabulary);
  vocabulary.n_bucket_rows = number_buckets(vocabulary.buckets);
  return vocabulary;
}

std::vector<int64_t> make_slots(const std::vector<uint8_t>& text, const std::vector<int64_t>& ends) {
  const size_t n = ends.size() - 1;
  std::vector<int64_t> slots(std::bit_ceil(std::max<size_t>(2 * n, 16)), -1);
  const auto mask = static_cast<int64_t>(slots.size()) - 1;
  for (size_t id = 0; id < n; ++id) {
    uint32_t hash =
        fnv1a({reinterpret_cast<const char*>(text.data()) + ends[id], static_cast<size_t>(ends[id + 1] - ends[id])});
    int64_t at = hash & mask;
    while (slots[at] >= 0) at = (at + 1) & mask;
    slots[at] = static_cast<int64_t>(id) << 32 | hash;
  }
  return slots;
}

int64_t number_buckets(std::vector<uint64_t>& words) {
  uint64_t n_rows = 0;
  for (uint64_t& word : words) {
    word = (n_rows << 32) | static_cast<uint32_t>(word);
    n_rows += static_cast<uint64_t>(std::popcount(static_cast<uint32_t>(word)));
  }
  return static_cast<int64_t>(n_rows);
}

}  // namespace labeltrees::text
