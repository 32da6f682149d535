#if defined(LABELTREES_ARM)
#define LABELTREES_ISA neon
#define LABELTREES_ISA_NAME "neon"
#define LABELTREES_NEON 1  // the baseline of these processors has NEON too, but leaves its use to the compiler
#include "simd/kernels.inl"
#endif
