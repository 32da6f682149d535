// Evidence beside the tree: it adjusts the scores of the labels that the tree proposes for a query.
//
// Neighbours: the similarity of a training point is the sum of query value * training value over the strongest features
// of the query (by value * weight), where every feature knows only the training points in which it is strongest. The
// most similar points vote for their labels; a vote is a share of the similarities, so it is in [0, 1]. Centroids: the
// cosine of the query with the mean of the label's points, of which the strongest features are kept.
//
// score = (tree score + neighbour_weight * vote + centroid_weight * cosine) / (1 + neighbour_weight + centroid_weight)
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "search/best.hpp"

namespace labeltrees::evidence {

// The similarities of training points to a query, summed up feature by feature.

// The upper half of a float.
inline float from_upper_half(uint16_t upper) { return std::bit_cast<float>(static_cast<uint32_t>(upper) << 16); }

struct SimilarPoint {
  float similarity;
  int32_t point;
};

// More similar first; equal: the smaller point first.
struct MoreSimilar {
  bool operator()(const SimilarPoint& a, const SimilarPoint& b) const {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.point < b.point;
  }
};

// One sum per training point. The points that got one are listed without a branch: which points a query meets cannot be
// predicted, and a hash table with its branches took several times as long.
class PointSums {
 public:
  // Prepares for at most `n_additions` of `n_points` points; all sums are 0.
  void start(int64_t n_points, int64_t n_additions) {
    if (static_cast<int64_t>(sums_.size()) < n_points) sums_.resize(static_cast<size_t>(n_points), 0.0f);
    if (static_cast<int64_t>(used_.size()) < n_additions + 1) used_.resize(static_cast<size_t>(n_additions + 1));
    n_used_ = 0;
  }

  // Adds scale * values to the sums of n points.
  void add(const int32_t* points, const uint16_t* values, int64_t n, float scale) {
    for (int64_t i = 0; i < n; ++i) {
      float& sum = sums_[points[i]];
      used_[n_used_] = points[i];
      n_used_ += sum == 0.0f;  // a sum that came back to 0 is listed twice, and dropped by take_best
      sum += scale * from_upper_half(values[i]);
    }
  }

  // out: the `n` most similar points of those above 0, in no particular order. All sums become 0 again. Points are
  // first counted by similarity in coarse steps, so that only those in the step of the n-th point are compared.
  void take_best(size_t n, std::vector<SimilarPoint>& out) {
    found_.resize(n_used_ + 1);
    size_t n_found = 0;
    float highest = 0.0f;
    for (size_t i = 0; i < n_used_; ++i) {
      float& sum = sums_[used_[i]];
      found_[n_found] = {sum, used_[i]};
      n_found += sum > 0.0f;
      highest = std::max(highest, sum);
      sum = 0.0f;
    }
    const float scale = n_found ? (kSteps - 1) / highest : 0.0f;
    int32_t counts[kSteps] = {};
    for (size_t i = 0; i < n_found; ++i) ++counts[step_of(found_[i], scale)];
    int lowest = kSteps - 1;
    for (size_t above = 0; lowest > 0 && (above += static_cast<size_t>(counts[lowest])) < n; --lowest) {
    }
    out.resize(n_found + 1);
    size_t n_out = 0;
    for (size_t i = 0; i < n_found; ++i) {
      out[n_out] = found_[i];
      n_out += step_of(found_[i], scale) >= lowest;
    }
    if (n_out > n)
      std::nth_element(out.begin(), out.begin() + static_cast<int64_t>(n), out.begin() + static_cast<int64_t>(n_out),
                       MoreSimilar());
    out.resize(std::min(n, n_out));
  }

 private:
  static constexpr int kSteps = 128;
  static int step_of(const SimilarPoint& point, float scale) { return static_cast<int>(point.similarity * scale); }

  std::vector<float> sums_;
  std::vector<int32_t> used_;
  size_t n_used_ = 0;
  std::vector<SimilarPoint> found_;
};

// CSR rows. Values are the upper halves of floats: the conversion is one shift, which matters in the loop over points.
struct ShortRows {
  const int64_t* indptr = nullptr;  // null: there are no rows
  const int32_t* columns = nullptr;
  const uint16_t* values = nullptr;
};

struct Evidence {
  int64_t n_features = 0;
  int32_t n_labels = 0;
  int64_t n_points = 0;
  ShortRows points_of_feature;
  const float* feature_weights = nullptr;  // how well each feature distinguishes points
  ShortRows labels_of_point;               // without values
  ShortRows centroids;                     // features of each label
  float neighbour_weight = 0.0f, centroid_weight = 0.0f;
  int64_t n_searched = 0;        // labels that the search finds, if the request does not ask for more
  int64_t n_candidates = 0;      // labels that the trees propose: the best of those scored during that search
  int64_t n_neighbours = 0;      // points that vote
  int64_t n_query_features = 0;  // features of the query that look for points
};

// What the evidence says about one label.
struct LabelEvidence {
  float vote = 0.0f, cosine = 0.0f;
};

// Working memory of one thread; grows with use. It holds one query.
class EvidenceScratch {
 public:
  // Features are below n_features; if one appears twice, its values are added.
  void set_query(const Evidence& evidence, const int32_t* features, const float* values, int64_t n);
  void set_dense_query(const Evidence& evidence, const float* row);
  // Either of them: a dense row has no features.
  void set_row(const Evidence& evidence, const int32_t* features, const float* values, int64_t n);

  // out: what the evidence says about each of n labels.
  void measure(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out);

  // Replaces the scores of labels by the blended ones, and sorts the labels, best first. log_weights, indexed with
  // ~label: what the scores were multiplied with; null for 1.
  void blend(const Evidence& evidence, std::vector<search::ScoredLabel>& labels, const float* log_weights);

 private:
  void measure_votes(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out);
  void measure_cosines(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out);
  void find_neighbours(const Evidence& evidence);
  void keep_strongest(const Evidence& evidence);

  std::vector<int32_t> features_;
  std::vector<float> values_;  // of a query of length 1
  std::vector<uint64_t> strengths_;
  std::vector<int32_t> strongest_;  // places in features_
  PointSums sums_;
  std::vector<SimilarPoint> neighbours_;
  std::vector<float> votes_;             // by place + 1
  std::vector<int32_t> place_of_label_;  // place + 1 among the labels being measured, else 0
  std::vector<float> dense_;             // the query by feature
  std::vector<int32_t> labels_;
  std::vector<LabelEvidence> found_;
};

}  // namespace labeltrees::evidence
