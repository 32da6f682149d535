#include "evidence/evidence.hpp"

#include <cmath>
#include <numeric>

namespace labeltrees {

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
  const size_t n = features_.size();
  strengths_.resize(n);
  for (size_t i = 0; i < n; ++i) strengths_[i] = std::fabs(values_[i]) * evidence.feature_weights[features_[i]];
  std::nth_element(
      strongest_.begin(), strongest_.begin() + evidence.n_query_features, strongest_.end(),
      [&](int32_t a, int32_t b) { return strengths_[a] != strengths_[b] ? strengths_[a] > strengths_[b] : a < b; });
  strongest_.resize(static_cast<size_t>(evidence.n_query_features));
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
  for (const SimilarPoint& neighbour : neighbours_) {
    for (int64_t at = rows.indptr[neighbour.point]; at < rows.indptr[neighbour.point + 1]; ++at)
      if (int32_t place = place_of_label_[rows.columns[at]]) out[place - 1].vote += neighbour.similarity;
  }
  for (int64_t i = 0; i < n; ++i) {
    place_of_label_[labels[i]] = 0;
    out[i].vote /= static_cast<float>(total);
  }
}

void EvidenceScratch::measure_cosines(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out) {
  if (dense_.empty()) dense_.resize(static_cast<size_t>(evidence.n_features), 0.0f);
  for (size_t i = 0; i < features_.size(); ++i) dense_[features_[i]] += values_[i];
  const ShortRows& rows = evidence.centroids;
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (int64_t at = rows.indptr[labels[i]]; at < rows.indptr[labels[i] + 1]; ++at)
      sum += dense_[rows.columns[at]] * from_upper_half(rows.values[at]);
    out[i].cosine = std::min(std::max(sum, 0.0f), 1.0f);
  }
  for (int32_t feature : features_) dense_[feature] = 0.0f;
}

void EvidenceScratch::measure(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out) {
  std::fill(out, out + n, LabelEvidence());
  if (evidence.points_of_feature.indptr) measure_votes(evidence, labels, n, out);
  if (evidence.centroids.indptr) measure_cosines(evidence, labels, n, out);
}

void EvidenceScratch::blend(const Evidence& evidence, std::vector<ScoredLabel>& labels, const float* log_weights) {
  labels_.clear();
  for (const ScoredLabel& label : labels) labels_.push_back(label.label);
  found_.resize(labels.size());
  measure(evidence, labels_.data(), static_cast<int64_t>(labels_.size()), found_.data());
  const float scale = 1.0f / (1.0f + evidence.neighbour_weight + evidence.centroid_weight);
  for (size_t i = 0; i < labels.size(); ++i) {
    const float weight = log_weights ? std::exp(log_weights[~labels[i].label]) : 1.0f;
    const float added = evidence.neighbour_weight * found_[i].vote + evidence.centroid_weight * found_[i].cosine;
    // Rounding, and the labels of a damaged file, could make it larger than the largest score.
    labels[i].score = std::min(weight, scale * (labels[i].score + weight * added));
  }
  std::sort(labels.begin(), labels.end(), BetterLabel());
}

}  // namespace labeltrees
