// The kernels for every processor: plain C++, compiled without special instructions.
#define LABELTREES_ISA baseline
#include "simd/primitives.inl"

namespace labeltrees::simd::baseline {

static constexpr const char* kName = "baseline";

static inline float half_of(uint16_t half) { return from_half(half); }

using Lanes = float;
static inline Lanes load_lanes(const float* at) { return *at; }
static inline Lanes load_lanes(const uint16_t* at) { return from_half(*at); }
static inline Lanes zero_lanes() { return 0.0f; }
static inline Lanes fma_lanes(Lanes a, Lanes b, Lanes c) { return a * b + c; }
static inline float sum_lanes(Lanes a) { return a; }
constexpr int kLanes = 1;

}  // namespace labeltrees::simd::baseline

#include "simd/scalar.inl"

namespace labeltrees::simd::baseline {

using scalar::add_child_values;
using scalar::add_full;
using scalar::add_listed;
using scalar::add_masked;
using scalar::bits_of;
using scalar::find_best;
using scalar::find_in_index;
using scalar::find_in_level;
using scalar::gather_dot;
using scalar::list_rows;
using scalar::MaskSums;
using scalar::priority_scores;
using scalar::select_children;

}  // namespace labeltrees::simd::baseline

#include "simd/kernels.inl"
