#include "evidence/evidence.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace labeltrees::evidence {

void EvidenceScratch::set_query(const Evidence& evidence, const int32_t* features, const float* values, int64_t n) {
  features_.assign(features, features + n);
  values_.assign(values, values + n);
  double squares = 0;
  for (float value : values_) squares += static_cast<double>(value) * value;
  const float scale = squares > 0 ? static_cast<float>(1.0 / std::sqrt(squares)) : 1.0f;
  for (float& value : values_) value *= scale;
  strongest_.resize(static_cast<size_t>(n));
  std::iota(strongest_.begin(), strongest_.end(), 0);
  if (!evidence.points_of_feature.indptr) return;
  if (n > evidence.n_query_features) keep_strongest(evidence);
  // The search of the tree comes between this and the use of the lists, and pushes them out of the cache.
  for (int32_t place : strongest_) {
    const int64_t begin = evidence.points_of_feature.indptr[features_[place]];
    for (int64_t line = 0; line < 3; ++line) __builtin_prefetch(evidence.points_of_feature.columns + begin + 16 * line);
    __builtin_prefetch(evidence.points_of_feature.values + begin);
  }
}

void EvidenceScratch::keep_strongest(const Evidence& evidence) {
  // One number to compare: the bits of floats from 0 on are in the order of the floats; then the smaller place first.
  const size_t n = features_.size();
  strengths_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const float strength = std::fabs(values_[i]) * evidence.feature_weights[features_[i]];
    strengths_[i] = uint64_t{std::bit_cast<uint32_t>(strength)} << 32 | (UINT32_MAX - static_cast<uint32_t>(i));
  }
  // Few of many: a heap of the best so far takes half the time of nth_element, whose comparisons cannot be predicted.
  std::partial_sort(strengths_.begin(), strengths_.begin() + evidence.n_query_features, strengths_.end(),
                    std::greater<uint64_t>());
  strongest_.resize(static_cast<size_t>(evidence.n_query_features));
  for (size_t i = 0; i < strongest_.size(); ++i)
    strongest_[i] = static_cast<int32_t>(UINT32_MAX - static_cast<uint32_t>(strengths_[i]));
}

void EvidenceScratch::set_dense_query(const Evidence& evidence, const float* row) {
  std::vector<int32_t> features;
  std::vector<float> values;
  for (int64_t feature = 0; feature < evidence.n_features; ++feature) {
    if (row[feature] == 0.0f) continue;
    features.push_back(static_cast<int32_t>(feature));
    values.push_back(row[feature]);
  }
  set_query(evidence, features.data(), values.data(), static_cast<int64_t>(features.size()));
}

void EvidenceScratch::set_row(const Evidence& evidence, const int32_t* features, const float* values, int64_t n) {
  return features ? set_query(evidence, features, values, n) : set_dense_query(evidence, values);
}

void EvidenceScratch::find_neighbours(const Evidence& evidence) {
  const ShortRows& points = evidence.points_of_feature;
  int64_t n = 0;
  for (int32_t place : strongest_) n += points.indptr[features_[place] + 1] - points.indptr[features_[place]];
  sums_.start(evidence.n_points, n);
  for (int32_t place : strongest_) {
    const int64_t begin = points.indptr[features_[place]], end = points.indptr[features_[place] + 1];
    sums_.add(points.columns + begin, points.values + begin, end - begin, values_[place]);
  }
  sums_.take_best(static_cast<size_t>(evidence.n_neighbours), neighbours_);
}

void EvidenceScratch::measure_votes(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out) {
  find_neighbours(evidence);
  double total = 0;
  for (const SimilarPoint& neighbour : neighbours_) total += neighbour.similarity;
  if (!(total > 0)) return;
  if (place_of_label_.empty()) place_of_label_.resize(static_cast<size_t>(evidence.n_labels), 0);
  for (int64_t i = 0; i < n; ++i) place_of_label_[labels[i]] = static_cast<int32_t>(i + 1);
  const ShortRows& rows = evidence.labels_of_point;
  for (const SimilarPoint& neighbour : neighbours_) __builtin_prefetch(rows.indptr + neighbour.point);
  for (const SimilarPoint& neighbour : neighbours_) __builtin_prefetch(rows.columns + rows.indptr[neighbour.point]);
  votes_.assign(static_cast<size_t>(n + 1), 0.0f);  // place 0 takes the votes for other labels, without a branch
  for (const SimilarPoint& neighbour : neighbours_) {
    for (int64_t at = rows.indptr[neighbour.point]; at < rows.indptr[neighbour.point + 1]; ++at)
      votes_[place_of_label_[rows.columns[at]]] += neighbour.similarity;
  }
  for (int64_t i = 0; i < n; ++i) {
    place_of_label_[labels[i]] = 0;
    out[i].vote = votes_[i + 1] / static_cast<float>(total);
  }
}

void EvidenceScratch::measure_cosines(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out) {
  if (dense_.empty()) dense_.resize(static_cast<size_t>(evidence.n_features), 0.0f);
  for (size_t i = 0; i < features_.size(); ++i) dense_[features_[i]] += values_[i];
  const ShortRows& rows = evidence.centroids;
  for (int64_t i = 0; i < n; ++i) {
    // Several sums: one alone would wait for each addition.
    float sums[4] = {};
    int64_t at = rows.indptr[labels[i]];
    const int64_t end = rows.indptr[labels[i] + 1];
    for (; at + 4 <= end; at += 4)
      for (int64_t j = 0; j < 4; ++j) sums[j] += dense_[rows.columns[at + j]] * from_upper_half(rows.values[at + j]);
    for (; at < end; ++at) sums[0] += dense_[rows.columns[at]] * from_upper_half(rows.values[at]);
    out[i].cosine = std::min(std::max((sums[0] + sums[1]) + (sums[2] + sums[3]), 0.0f), 1.0f);
  }
  for (int32_t feature : features_) dense_[feature] = 0.0f;
}

void EvidenceScratch::measure(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out) {
  std::fill(out, out + n, LabelEvidence());
  if (evidence.points_of_feature.indptr) measure_votes(evidence, labels, n, out);
  if (evidence.centroids.indptr) measure_cosines(evidence, labels, n, out);
}

void EvidenceScratch::blend(const Evidence& evidence, std::vector<search::ScoredLabel>& labels,
                            const float* log_weights) {
  labels_.clear();
  for (const search::ScoredLabel& label : labels) labels_.push_back(label.label);
  found_.resize(labels.size());
  measure(evidence, labels_.data(), static_cast<int64_t>(labels_.size()), found_.data());
  const float scale = 1.0f / (1.0f + evidence.neighbour_weight + evidence.centroid_weight);
  for (size_t i = 0; i < labels.size(); ++i) {
    const float weight = log_weights ? std::exp(log_weights[~labels[i].label]) : 1.0f;
    const float added = evidence.neighbour_weight * found_[i].vote + evidence.centroid_weight * found_[i].cosine;
    // Rounding, and the labels of a damaged file, could make it larger than the largest score.
    labels[i].score = std::min(weight, scale * (labels[i].score + weight * added));
  }
  std::sort(labels.begin(), labels.end(), search::BetterLabel());
}

}  // namespace labeltrees::evidence
