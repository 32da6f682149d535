// Evidence beside the tree: it adjusts the scores of the labels that the tree proposes for a query.
//
// Neighbours: the similarity of a training point is the sum of query value * training value over the strongest features
// of the query (by value * weight), where every feature knows only the training points in which it is strongest. The
// most similar points vote for their labels; a vote is a share of the similarities, so it is in [0, 1]. Centroids: the
// cosine of the query with the mean of the label's points, of which the strongest features are kept.
//
// score = (tree score + neighbour_weight * vote + centroid_weight * cosine) / (1 + neighbour_weight + centroid_weight)
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/point_sums.hpp"
#include "search/best.hpp"

namespace labeltrees {

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
  const float* feature_weights = nullptr;  // how well each feature tells points apart
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

  // out: what the evidence says about each of n labels.
  void measure(const Evidence& evidence, const int32_t* labels, int64_t n, LabelEvidence* out);

  // Replaces the scores of labels by the blended ones, and sorts the labels, best first. log_weights, indexed with
  // ~label: what the scores were multiplied with; null for 1.
  void blend(const Evidence& evidence, std::vector<ScoredLabel>& labels, const float* log_weights);

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

}  // namespace labeltrees
