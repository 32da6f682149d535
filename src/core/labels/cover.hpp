// Greedy cover of the points by labels (the paper's Algorithm 1), nearly linear in the number of label occurrences.
#pragma once

#include "common/threads.hpp"
#include "labels/indicator.hpp"

namespace labeltrees {

// Repeats: the label whose remaining points weigh most takes their weight, and its points are removed. Equal weights:
// the smaller label id.
//
// IN: matrix, one row per point and one column per label; point_weights (n_rows), finite, >= 0; whole_weights, whether
// all weights are whole numbers with a total below 2^53, so that sums in any order are exact.
// OUT: covered (n_columns), the weight each label took: the sum, in the order of points, over its remaining points.
void greedy_cover(const Indicator& matrix, const double* point_weights, bool whole_weights, double* covered, Job& job);

}  // namespace labeltrees
