// One iteration of a split: scores, the best assignment for the centres, the best centres for the assignment.
#include <algorithm>
#include <cmath>

#include "tree/split.hpp"

namespace labeltrees::tree {

// keys_l = beta_l / f_l = similarity/2 v_l.(m+ - m-) + frequency f_l, for all running starts in one pass over the rows.
void Splitter::score(const labels::LabelRows& rows) {
  if (running_.size() == 2 && rows.columns) {
    pairs_.resize(2 * static_cast<size_t>(rows.n_columns));
    for (int64_t c = 0; c < rows.n_columns; ++c) {
      pairs_[2 * c] = running_[0]->difference[c];
      pairs_[2 * c + 1] = running_[1]->difference[c];
    }
  }
  team_.run(labels::n_blocks(rows.n, labels::kFewRows), [&](int64_t block) {
    for (int64_t i = block * labels::kFewRows, end = std::min(rows.n, i + labels::kFewRows); i < end; ++i)
      score_row(rows, i);
  });
}

// The part of a key that depends on the weight. If similarity only breaks ties, it is 4 or -4 for labels without a tie:
// the similarity part is at most 1, so it cannot change their order.
double Splitter::by_frequency(const labels::LabelRow& row) const {
  if (!breaks_ties_) return settings_.frequency / total_weight_ * (row.weight / row.copies);
  return row.weight > tied_weight_ ? 4 : row.weight < tied_weight_ ? -4 : 0;
}

void Splitter::score_row(const labels::LabelRows& rows, int64_t i) {
  const labels::LabelRow& row = rows.rows[i];
  const double by_frequency = this->by_frequency(row), similarity = this->similarity() / 2;
  const int32_t* columns = rows.columns ? rows.columns + row.start : nullptr;
  const float* values = rows.values + row.start;
  if (similarity > 0 && columns && running_.size() == 2) {
    float dots[2];
    kernels_.gather_dot_pairs(columns, values, row.length, pairs_.data(), dots);
    for (size_t number = 0; number < 2; ++number) running_[number]->keys[i] = by_frequency + similarity * dots[number];
    return;
  }
  for (Start* start : running_) {
    double key = by_frequency;
    if (similarity > 0)
      key += similarity * (columns ? kernels_.gather_dot(columns, values, row.length, start->difference.data())
                                   : kernels_.dense_dot(values, start->difference.data(), row.length));
    start->keys[i] = key;
  }
}

// The paper's Lemma: alpha = +1 from the largest key down to half of the weight, a fraction for the row that crosses
// it, and -1 for the rest.
void Splitter::assign(const labels::LabelRows& rows, Start& start) {
  const std::vector<double>& keys = start.keys;
  const auto [crossing, alpha] = select_half(keys.data(), rows.rows, rows.n, total_weight_, team_, select_);
  const double key = keys[crossing];
  if (!(similarity() > 0)) tied_weight_ = rows.rows[crossing].weight;
  int64_t n_plus = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    const bool plus = keys[i] > key || (keys[i] == key && i < crossing);
    start.share[i] = plus;
    n_plus += plus;
  }
  double crossing_share = (1 + alpha) / 2;
  if (!settings_.relaxed) {
    const double similarity_part = key - by_frequency(rows.rows[crossing]);
    crossing_share = (1 + round(alpha, similarity() > 0 ? similarity_part : 0)) / 2;
    if (n_plus == 0) crossing_share = 1;
    if (n_plus == rows.n - 1) crossing_share = 0;
  }
  start.share[crossing] = crossing_share;
}

// Rounds to the nearer side. A tie goes to + only if the label is more similar to m+ than to m-.
double Splitter::round(double alpha, double similarity_part) const {
  if (std::abs(alpha) <= kAlphaTie) return similarity_part > 0 ? 1 : -1;
  return alpha > 0 ? 1 : -1;
}

// Updates the sums to the shares by adding or subtracting only the rows that moved: after the first iterations these
// are few.
void Splitter::update_sums(const labels::LabelRows& rows, Start& start) {
  if (!(similarity() > 0)) return;
  changes_.clear();
  for (int64_t i = 0; i < rows.n; ++i) {
    const double change = start.share[i] - start.previous_share[i];
    if (change != 0) changes_.push_back({i, change * rows.rows[i].weight});
  }
  add_changes(rows, start.plus);
}

// Each thread has a range of columns, so every column is summed in the order of rows for any number of threads.
void Splitter::add_changes(const labels::LabelRows& rows, std::vector<double>& sums) {
  const int64_t parts = static_cast<int64_t>(changes_.size()) * 8 < rows.n_columns ? 1 : team_.size();
  team_.run(parts, [&](int64_t part) {
    const auto first = static_cast<int32_t>(part * rows.n_columns / parts);
    const auto last = static_cast<int32_t>((part + 1) * rows.n_columns / parts);
    for (const auto [i, factor] : changes_) {
      const labels::LabelRow& row = rows.rows[i];
      const float* values = rows.values + row.start;
      if (!rows.columns) {
        for (int32_t column = first; column < last; ++column) sums[column] += factor * values[column];
        continue;
      }
      const int32_t* columns = rows.columns + row.start;
      if (parts == 1) {
        for (int32_t p = 0; p < row.length; ++p) sums[columns[p]] += factor * values[p];
        continue;
      }
      const int32_t ends[] = {0, row.core, row.length};
      for (int half : {0, 1}) {
        const int32_t* end = columns + ends[half + 1];
        const int32_t* from = std::lower_bound(columns + ends[half], end, first);
        const int32_t* to = std::lower_bound(from, end, last);
        for (int64_t p = from - columns; p < to - columns; ++p) sums[columns[p]] += factor * values[p];
      }
    }
  });
}

// Sets m+ - m- from the sums and returns the objective. With the best centres, the sum over one side of
// f_l (1+-alpha_l)/2 v_l.m+- is the length of that side's sum of f_l (1+-alpha_l)/2 v_l.
double Splitter::update_centres(const labels::LabelRows& rows, Start& start) {
  double bonus = 0;
  if (settings_.frequency > 0 && !breaks_ties_)
    for (int64_t i = 0; i < rows.n; ++i) {
      const double f = rows.rows[i].weight / total_weight_;
      bonus += (2 * start.share[i] - 1) * f * f / rows.rows[i].copies;
    }
  if (!(similarity() > 0)) return settings_.frequency * bonus;

  // In one loop: sums by blocks of columns would change when columns that no row uses are left out.
  double plus = 0, minus = 0;
  for (int64_t c = 0; c < rows.n_columns; ++c) {
    const double rest = total_[c] - start.plus[c];
    plus += start.plus[c] * start.plus[c];
    minus += rest * rest;
  }
  plus = std::sqrt(plus);
  minus = std::sqrt(minus);
  const double by_plus = plus > 0 ? 1 / plus : 0, by_minus = minus > 0 ? 1 / minus : 0;
  const int64_t n_columns = rows.n_columns;
  team_.run(labels::n_blocks(n_columns), [&](int64_t block) {
    for (int64_t c = block * labels::kBlock, end = std::min(n_columns, c + labels::kBlock); c < end; ++c)
      start.difference[c] = static_cast<float>(start.plus[c] * by_plus - (total_[c] - start.plus[c]) * by_minus);
  });
  return similarity() * (plus + minus) / total_weight_ + settings_.frequency * bonus;
}

}  // namespace labeltrees::tree
