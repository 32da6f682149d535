#if defined(LABELTREES_X86)
#define LABELTREES_ISA avx2
#define LABELTREES_ISA_NAME "avx2"
#include "simd/kernels.inl"
#endif
