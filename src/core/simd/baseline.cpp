#define LABELTREES_ISA baseline
#define LABELTREES_ISA_NAME "baseline"
#include "kernels.inl"
