#include "evidence/evidence.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "search/frontier.hpp"
#include "simd/kernels.hpp"

namespace labeltrees::evidence {

float Blend::operator()(float score, float weight, const float* measured, size_t stride) const {
  float added = 0.0f, logs = 0.0f;
  for (const Part& kind : kinds_) {
    (kind.multiplies ? logs : added) += kind.weight * *measured;
    measured += stride;
  }
  if (power_ > 1.0f && weight > 0.0f) score = weight * std::exp((std::log(score / weight) + logs) / power_);
  // Rounding, and the labels of a damaged file, could make it larger than the largest score.
  return std::min(weight, (1.0f / total_) * (score + weight * added));
}

void EvidenceScratch::set_query(const Evidence& evidence, const int32_t* features, const float* values, int64_t n) {
  features_.assign(features, features + n);
  values_.assign(values, values + n);
  double squares = 0;
  for (float value : values_) squares += static_cast<double>(value) * value;
  const float scale = squares > 0 ? static_cast<float>(1.0 / std::sqrt(squares)) : 1.0f;
  length_ = squares > 0 ? static_cast<float>(std::sqrt(squares)) : 1.0f;
  for (float& value : values_) value *= scale;
  strongest_.resize(static_cast<size_t>(n));
  std::iota(strongest_.begin(), strongest_.end(), 0);
  if (!evidence.points_of_feature.indptr) return;
  if (n > evidence.n_query_features) keep_strongest(evidence);
  // Prefetch the lists: the search of the tree has pushed them out of the cache.
  for (int32_t place : strongest_) {
    const int64_t begin = evidence.points_of_feature.indptr[features_[place]];
    for (int64_t line = 0; line < 3; ++line) __builtin_prefetch(evidence.points_of_feature.columns + begin + 16 * line);
    __builtin_prefetch(evidence.points_of_feature.values + begin);
  }
}

void EvidenceScratch::keep_strongest(const Evidence& evidence) {
  // One integer to compare: the bits of non-negative floats sort like the floats, and equal floats by place.
  const size_t n = features_.size();
  strengths_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const float strength = std::fabs(values_[i]) * evidence.feature_weights[features_[i]];
    strengths_[i] = uint64_t{std::bit_cast<uint32_t>(strength)} << 32 | (UINT32_MAX - static_cast<uint32_t>(i));
  }
  // Only a few are kept: the heap of partial_sort takes half the time of nth_element, whose branches are mispredicted.
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
  sums_.take_best(static_cast<size_t>(evidence.n_neighbours), neighbours_, [](int32_t) { return true; });
}

void EvidenceScratch::measure_votes(const Evidence& evidence, const int32_t* labels, int64_t n, float* out) {
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
    out[i] = votes_[i + 1] / static_cast<float>(total);
  }
}

void EvidenceScratch::fill_dense(const Evidence& evidence, QueryValues values) {
  if (dense_.empty()) dense_.resize(static_cast<size_t>(evidence.n_features), 0.0f);
  present_.clear();
  for (size_t i = 0; i < features_.size(); ++i) {
    float& value = dense_[features_[i]];
    if (value == 0.0f && values_[i] != 0.0f) present_.push_back(features_[i]);
    value = values == QueryValues::kPresent ? (values_[i] != 0.0f ? 1.0f : value) : value + values_[i];
  }
}

void EvidenceScratch::clear_dense() {
  for (int32_t feature : present_) dense_[feature] = 0.0f;
}

namespace {

// Maximum number of entries of the inverted index of names that a query reads; it takes a few microseconds.
constexpr int64_t kMostPostings = 4096;

// If the query has fewer features than (entries of the row) / kStepsPerFeature, each is looked up in the row.
constexpr int64_t kStepsPerFeature = 16;

// Rows with at most this number of weights have no bitmap: multiplying these with the query takes no longer.
constexpr int64_t kShortRow = 64;

// For kSearches features at once, the first of n places from `from` on whose column is not below the feature, or the
// last place. The searches are branchless and interleaved, because each step of a search waits for the one before.
constexpr size_t kSearches = 4;
void lower_bounds(const int32_t* from, int64_t n, const int32_t* features, const int32_t** found) {
  for (size_t i = 0; i < kSearches; ++i) found[i] = from;
  while (n > 1) {
    const int64_t half = n / 2;
    for (size_t i = 0; i < kSearches; ++i) found[i] += found[i][half - 1] < features[i] ? half : 0;
    n -= half;
  }
}

}  // namespace

float EvidenceScratch::row_sum(const ShortRows& rows, int32_t label) const {
  int64_t at = rows.indptr[label];
  const int64_t end = rows.indptr[label + 1];
  if (static_cast<int64_t>(present_.size()) * kStepsPerFeature < end - at) {
    float sum = 0.0f;
    const int32_t* found[kSearches];
    int32_t features[kSearches];
    for (size_t i = 0; i < present_.size(); i += kSearches) {
      const size_t n = std::min(kSearches, present_.size() - i);
      for (size_t j = 0; j < kSearches; ++j) features[j] = present_[i + std::min(j, n - 1)];
      lower_bounds(rows.columns + at, end - at, features, found);
      for (size_t j = 0; j < n; ++j)
        sum += *found[j] == features[j] ? dense_[features[j]] * from_upper_half(rows.values[found[j] - rows.columns])
                                        : 0.0f;
    }
    return sum;
  }
  // Four sums hide the latency of the addition.
  float sums[4] = {};
  for (; at + 4 <= end; at += 4)
    for (int64_t j = 0; j < 4; ++j) sums[j] += dense_[rows.columns[at + j]] * from_upper_half(rows.values[at + j]);
  for (; at < end; ++at) sums[0] += dense_[rows.columns[at]] * from_upper_half(rows.values[at]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

RowBits::RowBits(const ShortRows& rows, int64_t n_rows, int64_t n_features)
    : number_(static_cast<size_t>(n_features), 0), place_(static_cast<size_t>(n_rows), -1) {
  int64_t n_long = 0, n_weights = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    const int64_t begin = rows.indptr[row], end = rows.indptr[row + 1];
    if (end - begin <= kShortRow) continue;
    place_[row] = n_long++;
    n_weights += end - begin;
    for (int64_t at = begin; at < end; ++at) number_[rows.columns[at]] = 1;
  }
  int32_t n_numbered = 0;  // features rise with their numbers, as they do in a row
  for (int32_t& number : number_) number = number ? n_numbered++ : -1;
  for (int32_t& number : number_) number = number < 0 ? n_numbered : number;
  n_words_ = n_numbered / 64 + 1;
  if (n_long * n_words_ * 8 > n_weights * 6) {  // more memory than the rows take
    place_.assign(place_.size(), -1);
    return;
  }
  words_.resize(static_cast<size_t>(n_long * n_words_), 0);
  for (int64_t row = 0; row < n_rows; ++row) {
    if (place_[row] < 0) continue;
    uint64_t* words = words_.data() + place_[row] * n_words_;
    for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) {
      const int32_t number = number_[rows.columns[at]];
      words[number >> 6] |= uint64_t{1} << (number & 63);
    }
  }
}

void RowBits::mark(const std::vector<int32_t>& features, std::vector<uint64_t>& bits) const {
  bits.assign(static_cast<size_t>(n_words_), 0);
  for (int32_t feature : features) bits[number_[feature] >> 6] |= uint64_t{1} << (number_[feature] & 63);
}

void EvidenceScratch::sum_present(const Kind& kind, const int32_t* labels, int64_t n, float* out) {
  const ShortRows& rows = kind.rows;
  const RowBits& bits = *kind.bits;
  const simd::Kernels& kernels = simd::active_kernels();
  bits.mark(present_, query_bits_);
  const bool reads_all = static_cast<int64_t>(present_.size()) > 2 * bits.n_words();  // most lines of a row's weights
  const auto prefetch = [&](int32_t label) {
    const uint64_t* words = bits.of(label);
    for (int64_t word = 0; words && word < bits.n_words(); word += 8) __builtin_prefetch(words + word);
    const int64_t end = reads_all ? rows.indptr[label + 1] : 0;
    for (int64_t at = rows.indptr[label]; at < end; at += 32) __builtin_prefetch(rows.values + at);
  };
  for (int64_t i = 0; i < n; ++i) {
    if (i + 1 < n) prefetch(labels[i + 1]);
    const uint64_t* words = bits.of(labels[i]);
    out[i] = words
                 ? kernels.sum_present(words, query_bits_.data(), bits.n_words(), rows.values + rows.indptr[labels[i]])
                 : row_sum(rows, labels[i]);
  }
}

void EvidenceScratch::measure_rows(const Evidence& evidence, const Kind& kind, const int32_t* labels, int64_t n,
                                   float* out) {
  const ShortRows& rows = kind.rows;
  fill_dense(evidence, kind.values);
  for (int64_t i = 0; i < n; ++i) __builtin_prefetch(rows.indptr + labels[i]);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = rows.indptr[labels[i]];
    __builtin_prefetch(rows.columns + begin);
    __builtin_prefetch(rows.values + begin);
  }
  if (kind.measure == Kind::Measure::kSum) {
    if (kind.bits)
      sum_present(kind, labels, n, out);
    else
      for (int64_t i = 0; i < n; ++i) out[i] = row_sum(rows, labels[i]);
    for (int64_t i = 0; i < n; ++i) out[i] = std::min(std::max(out[i], 0.0f), 1.0f);
    return clear_dense();
  }
  const int64_t padded = (n + 15) / 16 * 16;
  const float length = kind.values == QueryValues::kGiven ? length_ : 1.0f;
  margins_.resize(static_cast<size_t>(2 * padded));
  float *margins = margins_.data(), *scores = margins + padded;
  for (int64_t i = 0; i < n; ++i) margins[i] = length * row_sum(rows, labels[i]) + kind.bias[labels[i]];
  std::fill(margins + n, margins + padded, 0.0f);
  clear_dense();
  simd::active_kernels().path_scores.of[kind.link.loss](margins, padded, 0.0f, kind.link.power, scores);
  if (kind.multiplies())
    std::copy(scores, scores + n, out);
  else
    for (int64_t i = 0; i < n; ++i) out[i] = std::exp(scores[i]);
}

void EvidenceScratch::measure(const Evidence& evidence, const int32_t* labels, int64_t n, float* out) {
  std::fill(out, out + n * static_cast<int64_t>(evidence.kinds.size()), 0.0f);
  for (const Kind& kind : evidence.kinds) {
    if (kind.measure == Kind::Measure::kVotes)
      measure_votes(evidence, labels, n, out);
    else
      measure_rows(evidence, kind, labels, n, out);
    out += n;
  }
}

void EvidenceScratch::propose_names(const Evidence& evidence, const search::LabelFilter& filter,
                                    std::vector<search::ScoredLabel>& labels) {
  for (const Kind& kind : evidence.kinds)
    if (kind.n_proposed > 0) propose_by(kind, evidence.n_labels, filter, labels);
}

void EvidenceScratch::propose_by(const Kind& kind, int32_t n_labels, const search::LabelFilter& filter,
                                 std::vector<search::ScoredLabel>& labels) {
  const ShortRows& lists = kind.postings;
  const auto length = [&](int32_t feature) { return lists.indptr[feature + 1] - lists.indptr[feature]; };
  listed_.clear();
  for (size_t i = 0; i < features_.size(); ++i)
    if (values_[i] != 0.0f && length(features_[i]) > 0) listed_.push_back(features_[i]);
  std::sort(listed_.begin(), listed_.end(),
            [&](int32_t a, int32_t b) { return length(a) != length(b) ? length(a) < length(b) : a < b; });
  listed_.erase(std::unique(listed_.begin(), listed_.end()), listed_.end());
  if (label_totals_.empty()) label_totals_.resize(static_cast<size_t>(n_labels), 0.0f);
  summed_.clear();
  int64_t left = kMostPostings;
  for (int32_t feature : listed_) {
    const int64_t begin = lists.indptr[feature], n = std::min(length(feature), left);
    for (int64_t at = begin; at < begin + n; ++at) {
      float& sum = label_totals_[lists.columns[at]];
      if (sum == 0.0f) summed_.push_back(lists.columns[at]);  // listed twice if it came back to 0: see below
      sum += from_upper_half(lists.values[at]);
    }
    left -= n;
  }
  named_.clear();
  for (int32_t label : summed_) {
    const float sum = label_totals_[label];
    label_totals_[label] = 0.0f;
    if (sum == 0.0f || !filter.allows_label(label)) continue;
    if (filter.weights && !(filter.weights[~label] > search::Frontier::kNone)) continue;
    named_.push_back({sum + kind.bias[label], label});
  }
  const size_t n = std::min(static_cast<size_t>(kind.n_proposed), named_.size());
  std::partial_sort(named_.begin(), named_.begin() + static_cast<int64_t>(n), named_.end(), search::BetterLabel());
  const size_t n_before = labels.size();
  for (size_t i = 0; i < n; ++i) {
    const int32_t label = named_[i].label;
    const auto is_label = [&](const search::ScoredLabel& one) { return one.label == label; };
    if (std::none_of(labels.begin(), labels.begin() + static_cast<int64_t>(n_before), is_label))
      labels.push_back({0.0f, label});
  }
}

void EvidenceScratch::blend(const Evidence& evidence, std::vector<search::ScoredLabel>& labels,
                            const float* log_weights) {
  labels_.clear();
  for (const search::ScoredLabel& label : labels) labels_.push_back(label.label);
  const size_t n = labels.size();
  measured_.resize(n * evidence.kinds.size());
  measure(evidence, labels_.data(), static_cast<int64_t>(n), measured_.data());
  for (size_t i = 0; i < n; ++i) {
    const float weight = log_weights ? std::exp(log_weights[~labels[i].label]) : 1.0f;
    labels[i].score = evidence.blend(labels[i].score, weight, measured_.data() + i, n);
  }
  std::sort(labels.begin(), labels.end(), search::BetterLabel());
}

}  // namespace labeltrees::evidence
