#include "tree/split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/random.hpp"

namespace labeltrees {

namespace {

constexpr double kClearlyBetter = 1e-9;                             // relative difference of two objectives
constexpr double kNone = -std::numeric_limits<double>::infinity();  // below every objective

// Sets of at least kLarge labels start from the centres of a sample of about kSample labels.
constexpr int64_t kLarge = 32768;
constexpr int64_t kSample = 16384;

}  // namespace

void Splitter::split(const LabelRows& given, uint64_t seed, SplitTrace* trace) {
  const bool by_similarity = settings_.similarity > 0;
  const bool large = by_similarity && given.n >= kLarge;
  if (large) start_from_sample(given, seed);
  const LabelRows rows = prepare(given);
  if (by_similarity) sum_all(rows);
  if (by_similarity && !large)
    climb_from_labels(rows, seed, trace);
  else
    climb(rows, trace);
}

// Sets the centres to the best ones for a sample. This takes a fraction of the time of one iteration over all labels,
// and fewer of those are then needed.
void Splitter::start_from_sample(const LabelRows& given, uint64_t seed) {
  const int64_t stride = given.n / kSample;
  sample_.clear();
  for (auto i = static_cast<int64_t>(next_random(seed) % stride); i < given.n; i += stride)
    sample_.push_back(given.rows[i]);
  LabelRows sample = given;
  sample.rows = sample_.data();
  sample.n = static_cast<int64_t>(sample_.size());
  const LabelRows rows = prepare(sample);
  sum_all(rows);
  climb_from_labels(rows, seed, nullptr);
  centres_of_best(rows);
}

// Sets total_weight_ and the sizes of the scratch. Without smoothing, labels that cover no point may all have weight 0;
// they then all get weight 1.
LabelRows Splitter::prepare(const LabelRows& given) {
  LabelRows rows = given;
  total_weight_ = 0;
  for (int64_t i = 0; i < rows.n; ++i) total_weight_ += rows.rows[i].weight;
  if (!(total_weight_ > 0)) {
    uniform_.assign(rows.rows, rows.rows + rows.n);
    for (auto& row : uniform_) row.weight = 1;
    rows.rows = uniform_.data();
    total_weight_ = static_cast<double>(rows.n);
  }
  keys_.resize(rows.n);
  share_.assign(rows.n, 0.0);
  best_objective_ = kNone;
  return rows;
}

// Climbs from several pairs of labels.
void Splitter::climb_from_labels(const LabelRows& rows, uint64_t seed, SplitTrace* trace) {
  for (int start = 0; start < settings_.n_starts; ++start) {
    const auto [first, second] = draw_centres(rows, seed);
    climb(rows, trace, first, second);
  }
}

// Iterates from the current centres until the objective hardly rises. Only rounding alpha can lower the objective; then
// the iteration before was the best of this start. The best assignment of all starts is kept.
void Splitter::climb(const LabelRows& rows, SplitTrace* trace, int64_t first, int64_t second) {
  if (trace) trace->starts.push_back({{first, second}, {}});
  double objective = kNone, before = kNone;
  for (int iteration = 0; iteration < settings_.max_iterations; ++iteration) {
    before = objective;
    objective = iterate(rows);
    if (trace) trace->starts.back().history.push_back(objective);
    if (iteration > 0 && objective - before <= settings_.tolerance * std::abs(before)) break;
  }
  const double best = std::max(objective, before);
  // Two starts often find the same sides, or mirrored ones: rounding alone must not choose between them.
  if (best_objective_ > kNone && best <= best_objective_ + kClearlyBetter * std::abs(best_objective_)) return;
  best_objective_ = best;
  best_share_ = objective < before ? previous_share_ : share_;
  if (trace) trace->best = trace->starts.size() - 1;
}

// One iteration: the best assignment for the centres, then the best centres for the assignment.
double Splitter::iterate(const LabelRows& rows) {
  job_.check();
  previous_share_ = share_;
  score(rows);
  assign(rows);
  update_sums(rows);
  return update_centres(rows);
}

// Sets the centres to those of the best assignment.
void Splitter::centres_of_best(const LabelRows& rows) {
  previous_share_ = share_;
  share_ = best_share_;
  list_moved();
  update_sums(rows);
  update_centres(rows);
}

// Sets total_ to the sum over all rows, as if all were on the + side.
void Splitter::sum_all(const LabelRows& rows) {
  difference_.resize(rows.n_columns);
  plus_.assign(rows.n_columns, 0.0);
  previous_share_.assign(rows.n, 0.0);
  share_.assign(rows.n, 1.0);
  list_moved();
  update_sums(rows);
  total_ = plus_;
}

// Sets m+ and m- to two labels drawn by weight, with different embeddings if a few attempts find such a pair.
std::pair<int64_t, int64_t> Splitter::draw_centres(const LabelRows& rows, uint64_t& seed) {
  const int64_t first = draw(rows, next_random(seed));
  int64_t second = first;
  for (int attempt = 0; attempt < 8 && equal_embeddings(rows, first, second); ++attempt)
    second = draw(rows, next_random(seed));
  std::fill(difference_.begin(), difference_.end(), 0.0f);
  for (auto [row, sign] : {std::pair{first, 1.0f}, {second, -1.0f}}) {
    const LabelRow& r = rows.rows[row];
    for (int32_t p = 0; p < r.length; ++p)
      difference_[rows.columns ? rows.columns[r.start + p] : p] += sign * rows.values[r.start + p];
  }
  return {first, second};
}

// A row drawn with probability proportional to its weight.
int64_t Splitter::draw(const LabelRows& rows, uint64_t random) const {
  double left = static_cast<double>(random >> 11) * 0x1p-53 * total_weight_;
  for (int64_t i = 0; i < rows.n; ++i) {
    left -= rows.rows[i].weight;
    if (left < 0) return i;
  }
  return rows.n - 1;
}

bool Splitter::equal_embeddings(const LabelRows& rows, int64_t i, int64_t j) const {
  const LabelRow &a = rows.rows[i], &b = rows.rows[j];
  return a.length == b.length &&
         std::equal(rows.values + a.start, rows.values + a.start + a.length, rows.values + b.start) &&
         (!rows.columns ||
          std::equal(rows.columns + a.start, rows.columns + a.start + a.length, rows.columns + b.start));
}

// keys_l = beta_l / f_l = similarity/2 v_l.(m+ - m-) + frequency f_l
void Splitter::score(const LabelRows& rows) {
  const double similarity = settings_.similarity / 2;
  const double frequency = settings_.frequency / total_weight_;
  team_.run(n_blocks(rows.n), [&](int64_t block) {
    for (int64_t i = block * kBlock, end = std::min(rows.n, i + kBlock); i < end; ++i) {
      const LabelRow& row = rows.rows[i];
      double key = frequency * row.weight;
      if (similarity > 0) {
        const float dot = rows.columns ? kernels_.gather_dot(rows.columns + row.start, rows.values + row.start,
                                                             row.length, difference_.data())
                                       : kernels_.dense_dot(rows.values + row.start, difference_.data(), row.length);
        key += similarity * dot;
      }
      keys_[i] = key;
    }
  });
}

// The paper's Lemma: alpha = +1 from the largest key down to half of the weight, a fraction for the row that crosses
// it, and -1 for the rest.
void Splitter::assign(const LabelRows& rows) {
  const auto [crossing, alpha] = select_half(keys_.data(), rows.rows, rows.n, total_weight_, team_, select_);
  const double key = keys_[crossing];
  int64_t n_plus = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    const bool plus = keys_[i] > key || (keys_[i] == key && i < crossing);
    share_[i] = plus;
    n_plus += plus;
  }
  double crossing_share = (1 + alpha) / 2;
  if (!settings_.relaxed) {
    const double similarity_part = key - settings_.frequency / total_weight_ * rows.rows[crossing].weight;
    crossing_share = (1 + round(alpha, settings_.similarity > 0 ? similarity_part : 0)) / 2;
    if (n_plus == 0) crossing_share = 1;
    if (n_plus == rows.n - 1) crossing_share = 0;
  }
  share_[crossing] = crossing_share;
  list_moved();
}

void Splitter::list_moved() {
  moved_.clear();
  const auto n = static_cast<int64_t>(share_.size());
  for (int64_t i = 0; i < n; ++i)
    if (share_[i] != previous_share_[i]) moved_.push_back(i);
}

// Rounds to the nearer side. A tie goes to + only if the label is more similar to m+ than to m-.
double Splitter::round(double alpha, double similarity_part) const {
  if (std::abs(alpha) <= kAlphaTie) return similarity_part > 0 ? 1 : -1;
  return alpha > 0 ? 1 : -1;
}

// Updates plus_ to share_ by adding or subtracting only the rows that moved: after the first iterations these are few.
// Each thread has a range of columns, so every column is summed in the order of rows for any number of threads.
void Splitter::update_sums(const LabelRows& rows) {
  if (!(settings_.similarity > 0)) return;
  const int64_t parts = static_cast<int64_t>(moved_.size()) * 8 < rows.n_columns ? 1 : team_.size();
  team_.run(parts, [&](int64_t part) {
    const auto first = static_cast<int32_t>(part * rows.n_columns / parts);
    const auto last = static_cast<int32_t>((part + 1) * rows.n_columns / parts);
    for (int64_t i : moved_) {
      const LabelRow& row = rows.rows[i];
      const double change = (share_[i] - previous_share_[i]) * row.weight;
      const float* values = rows.values + row.start;
      if (!rows.columns) {
        for (int32_t column = first; column < last; ++column) plus_[column] += change * values[column];
        continue;
      }
      const int32_t* columns = rows.columns + row.start;
      int64_t p = parts == 1 ? 0 : std::lower_bound(columns, columns + row.length, first) - columns;
      const int64_t end = parts == 1 ? row.length : std::lower_bound(columns + p, columns + row.length, last) - columns;
      for (; p < end; ++p) plus_[columns[p]] += change * values[p];
    }
  });
}

// Sets m+ - m- from the sums and returns the objective. With the best centres, the sum over one side of
// f_l (1+-alpha_l)/2 v_l.m+- is the length of that side's sum of f_l (1+-alpha_l)/2 v_l.
double Splitter::update_centres(const LabelRows& rows) {
  double bonus = 0;
  if (settings_.frequency > 0)
    for (int64_t i = 0; i < rows.n; ++i) {
      const double f = rows.rows[i].weight / total_weight_;
      bonus += (2 * share_[i] - 1) * f * f;
    }
  if (!(settings_.similarity > 0)) return settings_.frequency * bonus;

  const int64_t n_columns = rows.n_columns, blocks = n_blocks(n_columns);
  partial_.assign(2 * blocks, 0.0);
  team_.run(blocks, [&](int64_t block) {
    double plus = 0, minus = 0;
    for (int64_t c = block * kBlock, end = std::min(n_columns, c + kBlock); c < end; ++c) {
      const double rest = total_[c] - plus_[c];
      plus += plus_[c] * plus_[c];
      minus += rest * rest;
    }
    partial_[2 * block] = plus;
    partial_[2 * block + 1] = minus;
  });
  double plus = 0, minus = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    plus += partial_[2 * block];
    minus += partial_[2 * block + 1];
  }
  plus = std::sqrt(plus);
  minus = std::sqrt(minus);
  const double by_plus = plus > 0 ? 1 / plus : 0, by_minus = minus > 0 ? 1 / minus : 0;
  team_.run(blocks, [&](int64_t block) {
    for (int64_t c = block * kBlock, end = std::min(n_columns, c + kBlock); c < end; ++c)
      difference_[c] = static_cast<float>(plus_[c] * by_plus - (total_[c] - plus_[c]) * by_minus);
  });
  return settings_.similarity * (plus + minus) / total_weight_ + settings_.frequency * bonus;
}

}  // namespace labeltrees
