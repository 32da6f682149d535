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
    climb(rows, 1, trace);
}

// Sets the centres of the first start to the best ones for a sample. This takes a fraction of the time of one iteration
// over all labels, and fewer of those are then needed.
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
  Start& start = starts_[0];
  start.previous_share = start.share;
  start.share = best_share_;
  list_moved(start);
  update_sums(rows, start);
  update_centres(rows, start);
  start.rows[0] = start.rows[1] = -1;
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
  for (Start& start : starts_) {
    start.rows[0] = start.rows[1] = -1;
    start.keys.resize(rows.n);
    start.share.assign(rows.n, 1.0);
    start.previous_share.assign(rows.n, 0.0);
  }
  best_objective_ = kNone;
  return rows;
}

// Climbs from several pairs of labels.
void Splitter::climb_from_labels(const LabelRows& rows, uint64_t seed, SplitTrace* trace) {
  for (Start& start : starts_) draw_centres(rows, seed, start);
  climb(rows, starts_.size(), trace);
}

// Iterates from the centres of the first starts, side by side, each until its objective hardly rises. Only rounding
// alpha can lower an objective; then the iteration before was the best of this start.
void Splitter::climb(const LabelRows& rows, size_t n_starts, SplitTrace* trace) {
  running_.clear();
  for (size_t number = 0; number < n_starts; ++number) {
    Start& start = starts_[number];
    start.objective = start.before = kNone;
    running_.push_back(&start);
    if (trace) trace->starts.push_back({{start.rows[0], start.rows[1]}, {}});
  }
  for (int iteration = 0; iteration < settings_.max_iterations && !running_.empty(); ++iteration) {
    job_.check();
    score(rows);
    for (Start* start : running_) {
      iterate(rows, *start);
      if (trace) trace->starts[start - starts_.data()].history.push_back(start->objective);
    }
    if (iteration == 0) continue;
    std::erase_if(running_, [&](const Start* start) {
      return start->objective - start->before <= settings_.tolerance * std::abs(start->before);
    });
  }
  keep_best(n_starts, trace);
}

// Keeps the best assignment of all starts.
void Splitter::keep_best(size_t n_starts, SplitTrace* trace) {
  for (size_t number = 0; number < n_starts; ++number) {
    const Start& start = starts_[number];
    const double best = std::max(start.objective, start.before);
    // Two starts often find the same sides, or mirrored ones: rounding alone must not choose between them.
    if (best_objective_ > kNone && best <= best_objective_ + kClearlyBetter * std::abs(best_objective_)) continue;
    best_objective_ = best;
    best_share_ = start.objective < start.before ? start.previous_share : start.share;
    if (trace) trace->best = number;
  }
}

// One iteration after the scores: the best assignment for the centres, then the best centres for the assignment.
void Splitter::iterate(const LabelRows& rows, Start& start) {
  start.before = start.objective;
  start.previous_share = start.share;
  assign(rows, start);
  update_sums(rows, start);
  start.objective = update_centres(rows, start);
}

// Sets total_ to the sum over all rows. Every start begins as if all rows were on the + side.
void Splitter::sum_all(const LabelRows& rows) {
  Start& first = starts_[0];
  first.plus.assign(rows.n_columns, 0.0);
  list_moved(first);
  update_sums(rows, first);
  total_ = first.plus;
  for (Start& start : starts_) {
    start.difference.resize(rows.n_columns);
    start.plus = total_;
  }
}

// Sets m+ and m- to two labels drawn by weight, with different embeddings if a few attempts find such a pair.
void Splitter::draw_centres(const LabelRows& rows, uint64_t& seed, Start& start) {
  const int64_t first = draw(rows, next_random(seed));
  int64_t second = first;
  for (int attempt = 0; attempt < 8 && equal_embeddings(rows, first, second); ++attempt)
    second = draw(rows, next_random(seed));
  std::fill(start.difference.begin(), start.difference.end(), 0.0f);
  for (auto [row, sign] : {std::pair{first, 1.0f}, {second, -1.0f}}) {
    const LabelRow& r = rows.rows[row];
    for (int32_t p = 0; p < r.length; ++p)
      start.difference[rows.columns ? rows.columns[r.start + p] : p] += sign * rows.values[r.start + p];
  }
  start.rows[0] = first, start.rows[1] = second;
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

}  // namespace labeltrees
