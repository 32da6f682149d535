// Rows of a dense matrix: the vectors of words and of nodes. A row is `stride` floats long, a multiple of 16, and
// starts at a multiple of 64 bytes; so do the vectors beside it.
#pragma once

#include <cstdint>

namespace labeltrees::simd {

struct TextKernels {
  // out = sum_i rows[ids[i]]
  void (*sum_rows)(const float* rows, int64_t stride, const int32_t* ids, int64_t n, float* out);
  // rows[ids[i]] += addend for every i; ids may repeat.
  void (*add_to_rows)(float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* addend);
  // out[i] = rows[ids[i]] . x
  void (*dot_rows)(const float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* x, float* out);
  // out[i] = 1 / (1 + exp(-values[i])); room in both for the next multiple of 16.
  void (*sigmoids)(const float* values, int64_t n, float* out);
  // For every i, with row = rows[ids[i]], all different: gradient += step[i] row, then row += step[i] x.
  void (*step_rows)(float* rows, int64_t stride, const int32_t* ids, const float* step, int64_t n, const float* x,
                    float* gradient);
};

}  // namespace labeltrees::simd
