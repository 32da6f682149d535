#include "labels/cover.hpp"

#include <algorithm>
#include <vector>

namespace labeltrees::labels {

namespace {

struct Entry {
  double bound;  // at least the label's remaining weight
  int32_t label;
};

// std's heaps keep the largest on top: the heaviest label, and of equals the smallest id.
bool comes_later(const Entry& a, const Entry& b) {
  return a.bound < b.bound || (a.bound == b.bound && a.label > b.label);
}

// How far remaining_[l], which is updated by subtraction, can be from the sum over the remaining points: n additions,
// at most n subtractions and the n additions of that sum each round by at most 2^-53 of the label's whole weight. 4n is
// safe.
double largest_drift(double weight, int64_t n_points) { return weight * static_cast<double>(n_points) * 0x1p-51; }

// Removing a point lowers its labels' weights, so the heap holds upper bounds, which are corrected only when they reach
// the top. A sum over fewer non-negative terms in the same order is never larger, even in floating point (rounding
// keeps order), so an exact value on top is the true maximum, and equal values are real ties. Without whole weights an
// old bound is first lowered to the drifted sum, which costs nothing; the label's points are summed again only if it is
// still on top then.
class GreedyCover {
 public:
  GreedyCover(const Indicator& matrix, const double* point_weights, bool whole_weights)
      : matrix_(matrix),
        point_weights_(point_weights),
        whole_weights_(whole_weights),
        remaining_(matrix.n_columns, 0.0),
        drift_(whole_weights ? 0 : matrix.n_columns),
        outdated_(matrix.n_columns, 0),
        removed_(matrix.n_rows, 0) {
    transpose(matrix, label_ptr_, points_);
    for (int64_t label = 0; label < matrix.n_columns; ++label) {
      for (int64_t i = label_ptr_[label]; i < label_ptr_[label + 1]; ++i)
        remaining_[label] += point_weights[points_[i]];
      if (!whole_weights) drift_[label] = largest_drift(remaining_[label], label_ptr_[label + 1] - label_ptr_[label]);
      if (remaining_[label] > 0.0) heap_.push_back({remaining_[label], static_cast<int32_t>(label)});
    }
    std::make_heap(heap_.begin(), heap_.end(), comes_later);
  }

  void run(double* covered, Job& job) {
    std::fill_n(covered, matrix_.n_columns, 0.0);
    for (int64_t step = 0; !heap_.empty(); ++step) {
      if ((step & 0xfff) == 0) job.check();
      std::pop_heap(heap_.begin(), heap_.end(), comes_later);
      Entry& top = heap_.back();
      if (outdated_[top.label]) {
        correct(top);
        if (top.bound > 0.0)
          std::push_heap(heap_.begin(), heap_.end(), comes_later);
        else
          heap_.pop_back();
        continue;
      }
      const Entry chosen = top;
      heap_.pop_back();
      covered[chosen.label] = chosen.bound;
      remove_points_of(chosen.label);
    }
  }

 private:
  // Lowers the bound of a label that has lost points.
  void correct(Entry& entry) {
    const int32_t label = entry.label;
    const double bound = whole_weights_ ? remaining_[label] : remaining_[label] + drift_[label];
    if (!whole_weights_ && bound < entry.bound) {
      entry.bound = bound;
      return;
    }
    if (!whole_weights_) remaining_[label] = sum_remaining(label);
    entry.bound = remaining_[label];
    outdated_[label] = 0;
  }

  double sum_remaining(int32_t label) const {
    double sum = 0.0;
    for (int64_t i = label_ptr_[label]; i < label_ptr_[label + 1]; ++i)
      if (!removed_[points_[i]]) sum += point_weights_[points_[i]];
    return sum;
  }

  void remove_points_of(int32_t label) {
    for (int64_t i = label_ptr_[label]; i < label_ptr_[label + 1]; ++i) {
      const int32_t point = points_[i];
      if (removed_[point]) continue;
      removed_[point] = 1;
      for (int64_t entry = matrix_.indptr[point]; entry < matrix_.indptr[point + 1]; ++entry) {
        remaining_[matrix_.indices[entry]] -= point_weights_[point];
        outdated_[matrix_.indices[entry]] = 1;
      }
    }
  }

  const Indicator& matrix_;
  const double* point_weights_;
  const bool whole_weights_;
  std::vector<int64_t> label_ptr_;
  std::vector<int32_t> points_;
  std::vector<double> remaining_;  // per label: weight of its remaining points, with rounding errors
  std::vector<double> drift_;      // per label: largest rounding error of remaining_; empty for whole weights
  std::vector<char> outdated_;     // per label: has lost a point since its bound was exact
  std::vector<char> removed_;      // per point
  std::vector<Entry> heap_;
};

}  // namespace

void greedy_cover(const Indicator& matrix, const double* point_weights, bool whole_weights, double* covered, Job& job) {
  GreedyCover(matrix, point_weights, whole_weights).run(covered, job);
}

}  // namespace labeltrees::labels
