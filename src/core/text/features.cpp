#include "text/features.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace labeltrees::text {

size_t FeatureMap::read(std::string_view line, bool ended, TextFeatures& out) const {
  out.rows.clear();
  out.labels.clear();
  out.hashes.clear();
  out.n = out.n_tokens = 0;
  const bool subwords = settings_.has_ngrams() && settings_.max_n > 0;
  std::string bracketed;
  size_t n_read = for_each_word(line, ended, [&](std::string_view word, uint32_t hash) {
    int32_t id = vocabulary_.find(word, hash);
    ++out.n_tokens;
    if (id >= vocabulary_.n_words) {
      out.labels.push_back(id - static_cast<int32_t>(vocabulary_.n_words));
      return;
    }
    if (id < 0 && has_label_prefix(word)) return;  // a label not seen in training is not a word
    if (id >= 0) {
      out.rows.push_back(id);
      ++out.n;
    }
    if (subwords && word != kLineEnd) {
      bracketed.assign(1, '<').append(word).push_back('>');
      for_each_subword(bracketed, settings_.min_n, settings_.max_n, settings_.n_buckets,
                       [&](int32_t bucket) { add_bucket(bucket, out); });
    }
    out.hashes.push_back(static_cast<int32_t>(hash));
  });
  if (settings_.has_ngrams() && settings_.word_ngrams > 1)
    for_each_word_ngram(out.hashes.data(), static_cast<int64_t>(out.hashes.size()), settings_.word_ngrams,
                        settings_.n_buckets, [&](int32_t bucket) { add_bucket(bucket, out); });
  return n_read;
}

namespace {

// Calls use(features) for every text; texts of a file without labels are left out.
template <class Use>
void for_each_text(const TextSource& source, const FeatureMap& features, Job& job, Use&& use) {
  TextFeatures found;
  auto reader = source.reader();
  for (TextLine line; reader->next(line);) {
    size_t n_read = features.read(line.text, line.ended, found);
    if (n_read < line.size()) reader->unread(n_read);
    if (!source.has_labels_in_lines() || !found.labels.empty()) use(found);
    job.done.fetch_add(static_cast<int64_t>(n_read), std::memory_order_relaxed);
    job.check();
  }
}

void sort_unique(std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

Bag make_bag(const TextSource& source, const FeatureMap& features, int64_t n_rows, const BagSettings& settings,
             Job& job) {
  const auto n_words = static_cast<int32_t>(features.vocabulary().n_words);
  // First pass: the number of texts with each feature, so that rare features are never stored.
  std::vector<int32_t> n_texts(static_cast<size_t>(n_rows), 0);
  int64_t n_points = 0;
  for_each_text(source, features, job, [&](TextFeatures& found) {
    ++n_points;
    sort_unique(found.rows);
    for (int32_t row : found.rows) ++n_texts[row];
  });
  std::vector<float> idf(static_cast<size_t>(n_rows), 0.0f);
  size_t n_entries = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    if (n_texts[row] < (row < n_words ? settings.min_texts_of_word : settings.min_texts_of_ngram)) continue;
    idf[row] = static_cast<float>(1.0 + std::log((1.0 + static_cast<double>(n_points)) / (1.0 + n_texts[row])));
    n_entries += static_cast<size_t>(n_texts[row]);
  }
  n_texts = {};

  Bag bag;
  bag.columns.reserve(n_entries);
  bag.values.reserve(n_entries);
  for_each_text(source, features, job, [&](TextFeatures& found) {
    std::sort(found.rows.begin(), found.rows.end());
    const size_t begin = bag.values.size();
    double norm = 0;
    for (size_t i = 0, j; i < found.rows.size(); i = j) {
      for (j = i; j < found.rows.size() && found.rows[j] == found.rows[i];) ++j;
      const float weight = idf[found.rows[i]] * (1.0f + std::log(static_cast<float>(j - i)));
      if (weight == 0.0f) continue;
      bag.columns.push_back(found.rows[i]);
      bag.values.push_back(weight);
      norm += static_cast<double>(weight) * weight;
    }
    const float scale = norm > 0 ? static_cast<float>(1.0 / std::sqrt(norm)) : 0.0f;
    for (size_t i = begin; i < bag.values.size(); ++i) bag.values[i] *= scale;
    bag.indptr.push_back(static_cast<int64_t>(bag.values.size()));
    sort_unique(found.labels);
    bag.labels.insert(bag.labels.end(), found.labels.begin(), found.labels.end());
    bag.label_indptr.push_back(static_cast<int64_t>(bag.labels.size()));
  });
  return bag;
}

}  // namespace labeltrees::text
