#include "labels/cover.hpp"

#include <algorithm>
#include <vector>

namespace labeltrees {

namespace {

struct Entry {
  double bound;  // at least the label's remaining weight
  int32_t label;
};

// std's heaps keep the largest on top: the heaviest, and of equals the smallest label.
bool comes_later(const Entry& a, const Entry& b) {
  return a.bound < b.bound || (a.bound == b.bound && a.label > b.label);
}

// How far remaining[l], kept by subtraction, can be from the sum over the remaining points: n additions, at most n
// subtractions and the n additions of that sum each round by at most 2^-53 of the label's whole weight; 4n to be safe.
double largest_drift(double weight, int64_t n_points) { return weight * static_cast<double>(n_points) * 0x1p-51; }

}  // namespace

// Removing a point lowers its labels' weights, so what the heap holds are upper bounds, put right only when they come
// to the top. A sum over fewer non-negative terms, added in the same order, is never larger even in floating point
// (rounding keeps order), so an exact value on top is the true maximum and ties are honest. Without whole weights an
// old bound is first lowered with the drifted sum, which costs nothing, and the label's points are added up again only
// if it is still on top then.
void greedy_cover(const Indicator& matrix, const double* point_weights, bool whole_weights, double* covered, Job& job) {
  std::vector<int64_t> label_ptr;
  std::vector<int32_t> points;
  transpose(matrix, label_ptr, points);

  const int64_t n_labels = matrix.n_columns;
  std::vector<double> remaining(n_labels, 0.0);
  std::vector<double> drift(whole_weights ? 0 : n_labels);
  std::vector<char> outdated(n_labels, 0);  // has lost a point since its bound was exact
  std::vector<char> removed(matrix.n_rows, 0);
  std::vector<Entry> heap;
  for (int64_t label = 0; label < n_labels; ++label) {
    covered[label] = 0.0;
    for (int64_t i = label_ptr[label]; i < label_ptr[label + 1]; ++i) remaining[label] += point_weights[points[i]];
    if (!whole_weights) drift[label] = largest_drift(remaining[label], label_ptr[label + 1] - label_ptr[label]);
    if (remaining[label] > 0.0) heap.push_back({remaining[label], static_cast<int32_t>(label)});
  }
  std::make_heap(heap.begin(), heap.end(), comes_later);

  auto add_up = [&](int32_t label) {
    double sum = 0.0;
    for (int64_t i = label_ptr[label]; i < label_ptr[label + 1]; ++i)
      if (!removed[points[i]]) sum += point_weights[points[i]];
    return sum;
  };

  for (int64_t step = 0; !heap.empty(); ++step) {
    if ((step & 0xfff) == 0) job.check();
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    Entry& top = heap.back();
    const int32_t label = top.label;
    if (outdated[label]) {
      const double bound = whole_weights ? remaining[label] : remaining[label] + drift[label];
      if (whole_weights) {
        top.bound = bound;
        outdated[label] = 0;
      } else if (bound < top.bound) {
        top.bound = bound;
      } else {
        top.bound = remaining[label] = add_up(label);
        outdated[label] = 0;
      }
      if (top.bound > 0.0)
        std::push_heap(heap.begin(), heap.end(), comes_later);
      else
        heap.pop_back();
      continue;
    }
    covered[label] = top.bound;
    heap.pop_back();
    for (int64_t i = label_ptr[label]; i < label_ptr[label + 1]; ++i) {
      const int32_t point = points[i];
      if (removed[point]) continue;
      removed[point] = 1;
      for (int64_t entry = matrix.indptr[point]; entry < matrix.indptr[point + 1]; ++entry) {
        remaining[matrix.indices[entry]] -= point_weights[point];
        outdated[matrix.indices[entry]] = 1;
      }
    }
  }
}

}  // namespace labeltrees
