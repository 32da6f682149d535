// The kernels of each loss. A new loss needs an id here, its kernels in losses.inl, an entry in linear/loss.cpp, and
// one in labeltrees/_losses.py.
#pragma once

#include <cstdint>

namespace labeltrees::simd {

enum LossId : int32_t { kSquaredHinge, kLogistic, kLosses };

struct LanePass;

// Training kernels, [sparse, dense].
struct LossKernels {
  // One pass of dual coordinate descent. Returns the number of rows that stay active.
  int64_t (*pass[2])(LanePass& pass);
  // Recomputes weights and bias from alpha, because rounding errors add up over many updates.
  void (*rebuild[2])(const LanePass& pass, int64_t n_rows, int64_t n_columns);
};

// scores[c] = base + log of the score of margin c. Never above base; the lowest finite number for anything lower and
// for NaN. n is a multiple of 16. `power` is for losses whose score has an exponent.
using PathScores = void (*)(const float* margins, int64_t n, float base, float power, float* scores);

struct LossTable {
  LossKernels of[kLosses];
};
struct PathScoresTable {
  PathScores of[kLosses];
};

// How margins become scores: path_scores.of[loss] with this power.
struct ScoreLink {
  LossId loss;
  float power;
};

}  // namespace labeltrees::simd
