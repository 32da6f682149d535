#define LABELTREES_ISA baseline
#define LABELTREES_ISA_NAME "baseline"
#include "simd/kernels.inl"
