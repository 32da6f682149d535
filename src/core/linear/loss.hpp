// The losses a classifier can be trained with.
#pragma once

#include <optional>
#include <string_view>

#include "simd/lanes.hpp"

namespace labeltrees::linear {

struct Loss {
  const char* name;
  simd::LossId id;  // its kernels
  // The value of alpha to start from; none: start at the best classifier along the means of positives and negatives.
  std::optional<float> start_alpha;
  // How far a classifier is from its optimum, from its largest and smallest projected gradient; compared with eps.
  float (*violation)(float largest, float smallest);
  // The margin of a classifier whose rows are all positive and have this total cost.
  float (*certain_margin)(float total_cost);
  // The loss at a margin that has been multiplied with the sign of the class.
  float (*value)(float margin);
  // The mean loss of the best constant margin for a share of positives.
  double (*constant_loss)(double positive_share);
};

// Throws std::invalid_argument for an unknown name.
const Loss& find_loss(std::string_view name);

}  // namespace labeltrees::linear
