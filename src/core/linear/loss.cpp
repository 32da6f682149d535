#include "linear/loss.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace labeltrees::linear {

namespace {

float gradient_span(float largest, float smallest) { return largest - smallest; }
float largest_gradient(float largest, float smallest) { return std::max(largest, -smallest); }

float hinge_margin(float) { return 1.0f; }

// The bias b > 0 of a logistic classifier that has only a bias: b = cost sigmoid(-b).
float logistic_margin(float total_cost) {
  float low = 0, high = total_cost;
  for (int step = 0; step < 100; ++step) {
    const float middle = 0.5f * (low + high);
    (middle < total_cost / (1.0f + std::exp(middle)) ? low : high) = middle;
  }
  return low;
}

float hinge_value(float margin) { return margin < 1.0f ? (1.0f - margin) * (1.0f - margin) : 0.0f; }
float logistic_value(float margin) {
  return (margin < 0.0f ? -margin : 0.0f) + std::log1p(std::exp(-std::fabs(margin)));
}

double hinge_constant(double share) { return 4 * share * (1 - share); }
double logistic_constant(double share) {
  return share > 0 && share < 1 ? -share * std::log(share) - (1 - share) * std::log(1 - share) : 0.0;
}

// In the order of LossId. The logistic loss stores log(a / (C - a)): -87 is a = 0.
const Loss kTable[simd::kLosses] = {
    {"squared_hinge", simd::kSquaredHinge, std::nullopt, gradient_span, hinge_margin, hinge_value, hinge_constant},
    {"logistic", simd::kLogistic, -87.0f, largest_gradient, logistic_margin, logistic_value, logistic_constant},
};

}  // namespace

const Loss& find_loss(std::string_view name) {
  for (const Loss& loss : kTable)
    if (loss.name == name) return loss;
  throw std::invalid_argument("unknown loss " + std::string(name));
}

}  // namespace labeltrees::linear
