#include "text/features.hpp"

#include <string>

namespace labeltrees {

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

}  // namespace labeltrees
