#include "tree/split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/random.hpp"

namespace labeltrees::tree {

namespace {

constexpr double kClearlyBetter = 1e-9;                             // relative difference of two objectives
constexpr double kNone = -std::numeric_limits<double>::infinity();  // below every objective

// Sets of at least kLarge labels start from the centres of a sample of about kSample labels.
constexpr int64_t kLarge = 4096;
constexpr int64_t kSample = 2048;

// Sides that only serve as a start are found with a tolerance this many times as large.
constexpr double kRough = 10;

// Whether sides are first looked for by the cores of the rows: if rows are long and most of their values are outside.
bool worth_cores(const labels::LabelRows& rows) {
  constexpr int64_t kLong = 256, kShare = 2;
  int64_t n_values = 0, n_core = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    n_values += rows.rows[i].length;
    n_core += rows.rows[i].core;
  }
  return rows.columns && n_values >= kLong * rows.n && n_values >= kShare * n_core;
}

}  // namespace

void Splitter::split(const labels::LabelRows& given, uint64_t seed, SplitTrace* trace) {
  if (!(settings_.similarity > 0)) return split_by_weight(given, seed, trace);
  const bool large = given.n >= kLarge;
  // A core has a smaller norm than its row, so frequencies would count too much relative to it.
  const bool by_cores = settings_.frequency == 0 && worth_cores(given);
  labels::LabelRows rows;
  if (large || by_cores) {
    rows = start_from_sides(large ? take_sample(given, seed) : given, by_cores, seed);
    if (large) {  // the centres are those of the sample; the sides are of all rows
      rows = prepare(given);
      sum_all(rows);
    }
    climb(rows, 1, trace, settings_.tolerance);
  } else {
    rows = prepare(given);
    sum_all(rows);
    climb_from_labels(rows, seed, trace, settings_.tolerance);
  }
}

// The heaviest labels up to half of the weight. Only labels as heavy as the one at which half is reached can change
// places without changing the objective: if there are several, their similarity decides.
void Splitter::split_by_weight(const labels::LabelRows& given, uint64_t seed, SplitTrace* trace) {
  labels::LabelRows rows = prepare(given);
  climb(rows, 1, trace, settings_.tolerance);
  const auto n_tied = std::count_if(rows.rows, rows.rows + rows.n,
                                    [&](const labels::LabelRow& row) { return row.weight == tied_weight_; });
  if (n_tied < 2 || rows.n_columns == 0) return;
  breaks_ties_ = true;
  rows = prepare(given);
  sum_all(rows);
  climb_from_labels(rows, seed, nullptr, settings_.tolerance);
  breaks_ties_ = false;
}

// About kSample rows: those of a large weight, and every `stride`-th of the others, weighted for the rest.
labels::LabelRows Splitter::take_sample(const labels::LabelRows& given, uint64_t& seed) {
  const int64_t stride = given.n / kSample;
  double total = 0;
  for (int64_t i = 0; i < given.n; ++i) total += given.rows[i].weight;
  const double large = total / kSample;
  auto next = static_cast<int64_t>(next_random(seed) % stride);
  sample_.clear();
  for (int64_t i = 0; i < given.n; ++i) {
    labels::LabelRow row = given.rows[i];
    if (row.weight <= large) {
      if (next-- > 0) continue;
      next = stride - 1;
      row.weight *= static_cast<double>(stride);
      row.copies = static_cast<int32_t>(stride);
    }
    sample_.push_back(row);
  }
  labels::LabelRows sample = given;
  sample.rows = sample_.data();
  sample.n = static_cast<int64_t>(sample_.size());
  return sample;
}

// Splits the rows, or their cores, and starts from the two sides and their centres. This takes a fraction of the time
// of iterations over all values of all labels, and fewer of those are then needed.
labels::LabelRows Splitter::start_from_sides(const labels::LabelRows& given, bool by_cores, uint64_t seed) {
  labels::LabelRows rows = given;
  if (by_cores) {
    cores_.assign(given.rows, given.rows + given.n);
    for (labels::LabelRow& row : cores_) row.length = row.core;
    rows.rows = cores_.data();
  }
  rows = prepare(rows);
  sum_all(rows);
  climb_from_labels(rows, seed, nullptr, kRough * settings_.tolerance);
  rows = prepare(given);
  Start& start = starts_[0];
  start.share = best_share_;
  sum_sides(rows, start);
  start.objective = update_centres(rows, start);
  return rows;
}

// Sets total_weight_ and the sizes of the scratch. Without smoothing, labels that cover no point may all have weight 0;
// they then all get weight 1.
labels::LabelRows Splitter::prepare(const labels::LabelRows& given) {
  labels::LabelRows rows = given;
  total_weight_ = 0;
  for (int64_t i = 0; i < rows.n; ++i) total_weight_ += rows.rows[i].weight;
  if (!(total_weight_ > 0)) {
    uniform_.assign(rows.rows, rows.rows + rows.n);
    for (auto& row : uniform_) row.weight = row.copies = 1;
    rows.rows = uniform_.data();
    total_weight_ = static_cast<double>(rows.n);
  }
  for (Start& start : starts_) {
    start.rows[0] = start.rows[1] = -1;
    start.objective = start.before = kNone;
    start.keys.resize(rows.n);
    start.share.assign(rows.n, 1.0);
    start.previous_share.assign(rows.n, 0.0);
  }
  best_objective_ = kNone;
  return rows;
}

// Climbs from several pairs of labels.
void Splitter::climb_from_labels(const labels::LabelRows& rows, uint64_t seed, SplitTrace* trace, double tolerance) {
  for (Start& start : starts_) draw_centres(rows, seed, start);
  climb(rows, starts_.size(), trace, tolerance);
}

// Iterates from the centres of the first starts, side by side, each until its objective hardly rises. Only rounding
// alpha can lower an objective; then the iteration before was the best of this start.
void Splitter::climb(const labels::LabelRows& rows, size_t n_starts, SplitTrace* trace, double tolerance) {
  running_.clear();
  for (size_t number = 0; number < n_starts; ++number) {
    Start& start = starts_[number];
    running_.push_back(&start);
    if (!trace) continue;
    trace->starts.push_back({{start.rows[0], start.rows[1]}, {}});
    if (start.objective > kNone) trace->starts.back().history.push_back(start.objective);
  }
  for (int iteration = 0; iteration < settings_.max_iterations && !running_.empty(); ++iteration) {
    job_.check();
    score(rows);
    for (Start* start : running_) {
      iterate(rows, *start);
      if (trace) trace->starts[start - starts_.data()].history.push_back(start->objective);
    }
    std::erase_if(running_, [&](const Start* start) {
      return start->before > kNone && start->objective - start->before <= tolerance * std::abs(start->before);
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
void Splitter::iterate(const labels::LabelRows& rows, Start& start) {
  start.before = start.objective;
  start.previous_share = start.share;
  assign(rows, start);
  update_sums(rows, start);
  start.objective = update_centres(rows, start);
}

// Sets the sums of all starts. Each begins as if all rows were on the + side.
void Splitter::sum_all(const labels::LabelRows& rows) {
  sum_sides(rows, starts_[0]);
  for (Start& start : starts_) {
    start.difference.resize(rows.n_columns);
    start.plus = total_;
  }
}

// Sets total_ and the sums of a start for its shares.
void Splitter::sum_sides(const labels::LabelRows& rows, Start& start) {
  changes_.clear();
  for (int64_t i = 0; i < rows.n; ++i)
    if (start.share[i] > 0) changes_.push_back({i, start.share[i] * rows.rows[i].weight});
  start.plus.assign(rows.n_columns, 0.0);
  add_changes(rows, start.plus);
  total_ = start.plus;
  changes_.clear();
  for (int64_t i = 0; i < rows.n; ++i)
    if (start.share[i] < 1) changes_.push_back({i, (1 - start.share[i]) * rows.rows[i].weight});
  add_changes(rows, total_);
}

// Sets m+ and m- to two labels drawn by weight, with different embeddings if a few attempts find such a pair.
void Splitter::draw_centres(const labels::LabelRows& rows, uint64_t& seed, Start& start) {
  const int64_t first = draw(rows, next_random(seed));
  int64_t second = first;
  for (int attempt = 0; attempt < 8 && equal_embeddings(rows, first, second); ++attempt)
    second = draw(rows, next_random(seed));
  std::fill(start.difference.begin(), start.difference.end(), 0.0f);
  for (auto [row, sign] : {std::pair{first, 1.0f}, {second, -1.0f}}) {
    const labels::LabelRow& r = rows.rows[row];
    for (int32_t p = 0; p < r.length; ++p)
      start.difference[rows.columns ? rows.columns[r.start + p] : p] += sign * rows.values[r.start + p];
  }
  start.rows[0] = first, start.rows[1] = second;
}

// A row drawn with probability proportional to its weight.
int64_t Splitter::draw(const labels::LabelRows& rows, uint64_t random) const {
  double left = static_cast<double>(random >> 11) * 0x1p-53 * total_weight_;
  for (int64_t i = 0; i < rows.n; ++i) {
    left -= rows.rows[i].weight;
    if (left < 0) return i;
  }
  return rows.n - 1;
}

bool Splitter::equal_embeddings(const labels::LabelRows& rows, int64_t i, int64_t j) const {
  const labels::LabelRow &a = rows.rows[i], &b = rows.rows[j];
  return a.length == b.length &&
         std::equal(rows.values + a.start, rows.values + a.start + a.length, rows.values + b.start) &&
         (!rows.columns ||
          std::equal(rows.columns + a.start, rows.columns + a.start + a.length, rows.columns + b.start));
}

}  // namespace labeltrees::tree
