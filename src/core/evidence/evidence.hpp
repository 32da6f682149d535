// Evidence beside the tree: it adjusts the scores of the labels that the tree proposes for a query.
//
// A kind of evidence measures every proposed label. Votes: the similarity of a training point is the sum of query value
// * training value over the strongest features of the query (by value * weight). Each feature lists only the training
// points in which it is strongest. The most similar points vote for their labels; a vote is a share of the
// similarities. All other kinds are rows of weights over features, one per label (centroids, item-to-item weights,
// classifiers, names), and measure the sum of weight * query value. The sum is clipped to [0, 1], or, for classifiers
// and names, it is a margin that becomes a score as in the tree.
//
// Names also propose labels, by an inverted index from features to labels: those with the largest margins. The features
// with the shortest lists come first, and at most kMostPostings entries are read, so that a query has a bounded cost.
//
// Item-to-item weights also propose labels: those with the largest sums over the items of the query. Each item lists
// only the labels for which its weight is largest. A label that the trees do not propose has tree score 0.
//
// With the tree's score s, scores f_i of classifiers, other measures m_j in [0, 1], and weights g_i and a_j, the score
// is
//   ((s * prod f_i^g_i)^(1 / (1 + sum g_i)) + sum a_j m_j) / (1 + sum a_j)
// Blend is the only place that computes it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/memory.hpp"
#include "search/best.hpp"
#include "search/label_rules.hpp"
#include "simd/lanes.hpp"

namespace labeltrees::evidence {

// The float with these upper 16 bits and zeros below.
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

// The similarities of training points to a query: one sum per point, added up feature by feature. The points with a sum
// are listed without a branch: a branch would be mispredicted, and a hash table took several times as long.
class PointSums {
 public:
  // Prepares for at most `n_additions` additions to the sums of `n_points` points; all sums are 0.
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

  // out: the `n` most similar points of those above 0 with is_wanted(point), in no particular order. All sums become 0
  // again. Points are first counted by similarity in coarse steps, so that only those in the step of the n-th point are
  // compared.
  template <class IsWanted>
  void take_best(size_t n, std::vector<SimilarPoint>& out, IsWanted&& is_wanted) {
    found_.resize(n_used_ + 1);
    size_t n_found = 0;
    float highest = 0.0f;
    for (size_t i = 0; i < n_used_; ++i) {
      float& sum = sums_[used_[i]];
      found_[n_found] = {sum, used_[i]};
      const bool counts = sum > 0.0f && is_wanted(used_[i]);
      n_found += counts;
      highest = std::max(highest, counts ? sum : 0.0f);
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

// Bitmaps of the features of long rows, for queries whose features are present or not. Where the bitmaps of a row and
// of a query meet, the bits before are the place of the weight in the row. That takes a third of the time of
// multiplying a row of 512 weights with the query. Only the features of long rows have a bit, so that a bitmap does not
// grow with the number of rare features.
class RowBits {
 public:
  RowBits(const ShortRows& rows, int64_t n_rows, int64_t n_features);
  int64_t n_words() const { return n_words_; }
  // Null for a short row.
  const uint64_t* of(int32_t row) const { return place_[row] < 0 ? nullptr : words_.data() + place_[row] * n_words_; }
  // out: the bitmap of some features.
  void mark(const std::vector<int32_t>& features, std::vector<uint64_t>& bits) const;

 private:
  int64_t n_words_ = 0;          // of a bitmap
  std::vector<int32_t> number_;  // of each feature; one number is for all features that are in no long row
  std::vector<int64_t> place_;   // of each row among the bitmaps, -1 for a short one
  std::vector<uint64_t> words_;
};

// The query values that the rows of a kind are multiplied with.
enum class QueryValues { kUnit, kGiven, kPresent };  // the query scaled to length 1, as given, or 1 for every feature

// One kind of evidence.
struct Kind {
  enum class Measure { kVotes, kSum, kLogScore, kScore };
  Measure measure;
  float weight;
  ShortRows rows;               // features of each label, rising within a row; unused for votes
  const float* bias = nullptr;  // (n_labels) of kLogScore and kScore
  QueryValues values = QueryValues::kUnit;
  simd::ScoreLink link{};  // of kLogScore and kScore
  ShortRows postings{};    // labels of each feature, if the kind proposes labels; every feature of the query counts 1
  std::shared_ptr<const RowBits> bits;  // of the rows, if every feature of the query counts 1
  int64_t n_proposed = 0;

  bool multiplies() const { return measure == Measure::kLogScore; }
};

// The formula above for some kinds: their weights, and whether they multiply.
class Blend {
 public:
  void add(float weight, bool multiplies) {
    kinds_.push_back({weight, multiplies});
    (multiplies ? power_ : total_) += weight;
  }
  // score: of the tree, times `weight` of the label. measured[i * stride]: the measurement of kind i.
  float operator()(float score, float weight, const float* measured, size_t stride) const;

 private:
  struct Part {
    float weight;
    bool multiplies;
  };
  std::vector<Part> kinds_;
  float total_ = 1.0f, power_ = 1.0f;
};

struct Evidence {
  void add(const Kind& kind) {
    kinds.push_back(kind);
    blend.add(kind.weight, kind.multiplies());
  }

  int64_t n_features = 0;
  int32_t n_labels = 0;
  std::vector<Kind> kinds;
  Blend blend;               // of the kinds
  int64_t n_searched = 0;    // labels that the search finds, if the request does not ask for more
  int64_t n_candidates = 0;  // labels that the trees propose: the best of those scored during that search
  // For votes.
  int64_t n_points = 0;
  ShortRows points_of_feature;
  const float* feature_weights = nullptr;  // how well each feature distinguishes points
  ShortRows labels_of_point;               // without values
  int64_t n_neighbours = 0;                // points that vote
  int64_t n_query_features = 0;            // strongest features of the query, used to find points
  // For proposals of items.
  ShortRows labels_of_item;  // the labels for which each feature has the largest weights; null: no proposals
  int64_t n_proposed = 0;    // labels, at most
};

// Working memory of one thread; grows with use. It holds one query.
class EvidenceScratch {
 public:
  // Features are below n_features; if one appears twice, its values are added.
  void set_query(const Evidence& evidence, const int32_t* features, const float* values, int64_t n);
  void set_dense_query(const Evidence& evidence, const float* row);
  // Calls one of the two: `features` is null for a dense row.
  void set_row(const Evidence& evidence, const int32_t* features, const float* values, int64_t n);

  // out (n_kinds, n): the measurement of each kind for each of n labels; for classifiers the logarithm of the score.
  void measure(const Evidence& evidence, const int32_t* labels, int64_t n, float* out);

  // Appends the labels that the items of the query propose and that are not among `labels`, with the score 0.
  // allows(label): whether it may be returned.
  template <class Allows>
  void propose(const Evidence& evidence, std::vector<search::ScoredLabel>& labels, Allows&& allows) {
    const ShortRows& rows = evidence.labels_of_item;
    if (!rows.indptr) return;
    if (place_of_label_.empty()) place_of_label_.resize(static_cast<size_t>(evidence.n_labels), 0);
    for (const search::ScoredLabel& one : labels) place_of_label_[one.label] = 1;
    int64_t n = 0;
    for (int32_t feature : features_) n += rows.indptr[feature + 1] - rows.indptr[feature];
    label_sums_.start(evidence.n_labels, n);
    for (size_t i = 0; i < features_.size(); ++i) {
      const int64_t begin = rows.indptr[features_[i]], end = rows.indptr[features_[i] + 1];
      if (values_[i] != 0.0f) label_sums_.add(rows.columns + begin, rows.values + begin, end - begin, 1.0f);
    }
    auto is_new = [&](int32_t label) { return place_of_label_[label] == 0 && allows(label); };
    label_sums_.take_best(static_cast<size_t>(evidence.n_proposed), proposed_, is_new);
    for (const search::ScoredLabel& one : labels) place_of_label_[one.label] = 0;
    for (const SimilarPoint& found : proposed_) labels.push_back({0.0f, found.point});
  }
  // The same for the labels that match by their names.
  void propose_names(const Evidence& evidence, const search::LabelFilter& filter,
                     std::vector<search::ScoredLabel>& labels);

  // Replaces the scores of labels by the blended ones, and sorts the labels, best first. log_weights, indexed with
  // ~label: logarithms of the label weights that the scores include; null: all weights are 1.
  void blend(const Evidence& evidence, std::vector<search::ScoredLabel>& labels, const float* log_weights);

 private:
  void measure_votes(const Evidence& evidence, const int32_t* labels, int64_t n, float* out);
  void measure_rows(const Evidence& evidence, const Kind& kind, const int32_t* labels, int64_t n, float* out);
  void propose_by(const Kind& kind, int32_t n_labels, const search::LabelFilter& filter,
                  std::vector<search::ScoredLabel>& labels);
  void find_neighbours(const Evidence& evidence);
  void keep_strongest(const Evidence& evidence);
  void fill_dense(const Evidence& evidence, QueryValues values);
  void clear_dense();
  float row_sum(const ShortRows& rows, int32_t label) const;
  // out: the sum of the weights of each label for the features that are present.
  void sum_present(const Kind& kind, const int32_t* labels, int64_t n, float* out);

  std::vector<int32_t> features_;
  std::vector<float> values_;  // of a query of length 1
  float length_ = 1.0f;        // of the query as given
  std::vector<uint64_t> strengths_;
  std::vector<int32_t> strongest_;  // places in features_
  PointSums sums_, label_sums_;
  std::vector<SimilarPoint> proposed_;  // labels
  std::vector<SimilarPoint> neighbours_;
  std::vector<float> votes_;             // by place + 1
  std::vector<int32_t> place_of_label_;  // place + 1 among the labels being measured, else 0
  std::vector<float> dense_;             // the query by feature, while rows are measured
  std::vector<int32_t> present_;         // its features, each once
  std::vector<uint64_t> query_bits_;     // these as a bitmap
  std::vector<int32_t> labels_;
  std::vector<float> measured_;
  std::vector<float> label_totals_;  // all 0, except while names propose labels
  std::vector<int32_t> summed_;      // the labels that have one
  std::vector<int32_t> listed_;      // features that have postings
  std::vector<search::ScoredLabel> named_;
  AlignedScratch<float> margins_;
};

}  // namespace labeltrees::evidence
