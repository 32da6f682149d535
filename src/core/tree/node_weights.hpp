// Label weights that are computed anew in each node, from the frequencies of the node's labels alone.
#pragma once

#include <cmath>
#include <cstdint>

#include "labels/label_rows.hpp"

namespace labeltrees {

// With f and c normalised over the n labels of the node:
//   weight_l = frequency * f_l^power + cover * c_l + uniform / n
// If no label of the node covers a point, the middle term is 0.
struct NodeWeights {
  const double* frequencies = nullptr;  // per label; null: the weights of the root are used everywhere
  const double* covers = nullptr;       // per label
  double frequency = 0, power = 0, cover = 0, uniform = 0;

  bool given() const { return frequencies != nullptr; }

  void set(LabelRow* rows, int64_t n) const {
    double total_frequency = 0, total_cover = 0;
    for (int64_t i = 0; i < n; ++i) {
      total_frequency += frequencies[rows[i].label];
      total_cover += covers[rows[i].label];
    }
    const double by_cover = total_cover > 0 ? cover / total_cover : 0;
    const double rest = uniform / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t label = rows[i].label;
      rows[i].weight =
          frequency * std::pow(frequencies[label] / total_frequency, power) + by_cover * covers[label] + rest;
    }
  }
};

}  // namespace labeltrees
