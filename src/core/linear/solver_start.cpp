#include <algorithm>

#include "linear/solver.hpp"

namespace labeltrees {

// For each lane: the sum of s_i over its positives, and of s_i^2 / (2 C_i) over its positives and over its negatives.
struct LaneSolver::ClassSums {
  double positive_weight[kMaxLanes] = {}, positive_curve[kMaxLanes] = {}, negative_curve[kMaxLanes] = {};
};

LaneSolver::ClassSums LaneSolver::class_sums(const NodeRows& node, const LanePass& pass) const {
  const int lanes = kernels_->lanes;
  const float* row_weight = node.row_weight.size() > 0 ? node.row_weight.data() : nullptr;
  ClassSums sums;
  if (pass.inverse_costs) {
    for (int64_t row = 0; row < node.n_rows; ++row) {
      const float weight = row_weight ? row_weight[row] : 1.0f;
      for (int lane = 0; lane < lanes; ++lane) {
        const float curve = weight * weight * pass.inverse_costs[row * lanes + lane];
        if ((rows_[row].positive >> lane & 1) != 0) {
          sums.positive_weight[lane] += weight;
          sums.positive_curve[lane] += curve;
        } else {
          sums.negative_curve[lane] += curve;
        }
      }
    }
  } else {
    for (int lane = 0; lane < lanes; ++lane) {
      if ((pass.live >> lane & 1) == 0) continue;
      sums.positive_weight[lane] = static_cast<double>(n_positive_[lane]);
      sums.positive_curve[lane] = sums.positive_weight[lane] * pass.inverse_cost;
      sums.negative_curve[lane] = (node.total_weight - sums.positive_weight[lane]) * pass.inverse_cost;
    }
  }
  return sums;
}

// Starts from the best classifier along the means of its positives and negatives: alpha_i = a s_i for positives and
// b s_i for negatives (s the row weights), where a, b >= 0 maximise the dual. With
// P = sum of s_i x_i over positives, N over negatives (bias feature included), p and n the sums of s_i, and P2, N2
// those of s_i^2 / (2 C_i):
//   (P.P + P2) a - P.N b = p,   -P.N a + (N.N + N2) b = n.
void LaneSolver::start_at_means(const NodeRows& node, LanePass& pass) {
  const int lanes = kernels_->lanes;
  const float* row_weight = node.row_weight.size() > 0 ? node.row_weight.data() : nullptr;
  kernels_->add_positive[pass.columns == nullptr](pass, row_weight, node.n_rows);
  double squares[kMaxLanes], cross[kMaxLanes];
  kernels_->inner_products(weights_.data(), node.total.data(), node.n_columns, squares, cross);
  double total_square = 0;
  for (int64_t column = 0; column < node.n_columns; ++column)
    total_square += static_cast<double>(node.total[column]) * node.total[column];

  const ClassSums sums = class_sums(node, pass);
  const double total_bias = node.total_weight * pass.bias_value;
  total_square += total_bias * total_bias;
  alignas(64) float if_positive[kMaxLanes] = {}, if_negative[kMaxLanes] = {}, scale[kMaxLanes] = {},
                    shift[kMaxLanes] = {};
  for (int lane = 0; lane < lanes; ++lane) {
    if ((pass.live >> lane & 1) == 0) continue;
    const double bias = sums.positive_weight[lane] * pass.bias_value;
    const double p_p = squares[lane] + bias * bias, p_t = cross[lane] + bias * total_bias;
    const double p_n = p_t - p_p, n_n = std::max(total_square - 2 * p_t + p_p, 0.0);
    const double p = sums.positive_weight[lane], n = node.total_weight - p;
    const double pp = p_p + sums.positive_curve[lane], nn = n_n + sums.negative_curve[lane];
    const double determinant = pp * nn - p_n * p_n;
    double a = (p * nn + n * p_n) / determinant, b = (n * pp + p * p_n) / determinant;
    if (!(a >= 0 && b >= 0)) {
      // This happens only if the means point in opposite directions; then one of the two is 0.
      const bool positives = p * p / pp > n * n / nn;
      a = positives ? p / pp : 0;
      b = positives ? 0 : n / nn;
    }
    if_positive[lane] = static_cast<float>(a);
    if_negative[lane] = static_cast<float>(b);
    // w = a P - b N = (a + b) P - b T
    scale[lane] = static_cast<float>(a + b);
    shift[lane] = static_cast<float>(-b);
    bias_[lane] = static_cast<float>(a * bias - b * (total_bias - bias));
  }
  kernels_->combine(weights_.data(), node.total.data(), node.n_columns, scale, shift);
  kernels_->start_alpha(alpha_.data(), rows_.data(), row_weight, node.n_rows, if_positive, if_negative);
}

}  // namespace labeltrees
