#include "tfidf/union.hpp"

#include <stdexcept>

namespace labeltrees {

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

}  // namespace labeltrees
