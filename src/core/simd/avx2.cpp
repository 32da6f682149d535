#if defined(LABELTREES_X86)
#define LABELTREES_ISA avx2
#define LABELTREES_ISA_NAME "avx2"
#include "kernels.inl"
#endif
