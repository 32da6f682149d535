// The vector kernels, one table per instruction set. Callers take the table once (active_kernels()) outside their
// loops.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace labeltrees {

struct Kernels {
  const char* name;
  // sum_i values[i] * dense[columns[i]]: one sparse row times a dense vector.
  float (*gather_dot)(const int32_t* columns, const float* values, int64_t n, const float* dense);
  // sum_i a[i] * b[i]
  float (*dense_dot)(const float* a, const float* b, int64_t n);
  // Training: 4, 8 and 16 classifiers side by side.
  LaneKernels lanes[3];
};

// The best table this processor runs, or the one chosen with use_kernels().
const Kernels& active_kernels();
// Names of the tables this processor runs, from the plainest; null-terminated.
const char* const* available_kernels();
// Chooses a table by name for the whole process (tests run every path); false if this processor lacks it.
bool use_kernels(const char* name);

}  // namespace labeltrees
