#if defined(LABELTREES_X86)
#define LABELTREES_ISA avx512
#define LABELTREES_ISA_NAME "avx512"
#include "simd/kernels.inl"
#endif
