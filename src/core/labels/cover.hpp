// Greedy cover of the points by labels (the paper's Algorithm 1), near-linear in the number of label occurrences.
#pragma once

#include "common/threads.hpp"
#include "labels/indicator.hpp"

namespace labeltrees {

// Again and again the label whose remaining points weigh most takes their weight, and its points are removed. Ties go
// to the smaller label id.
//
// point_weights: in, one a row of `matrix`, finite, >= 0. covered: out, one a column, what each label took.
// A label's remaining weight is always the plain sum, in point order, over its remaining points. If every weight is a
// whole number and their total is below 2^53 (`whole_weights`) such sums are exact however they are formed.
void greedy_cover(const Indicator& matrix, const double* point_weights, bool whole_weights, double* covered, Job& job);

}  // namespace labeltrees
