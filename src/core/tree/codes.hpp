// Trees from frequencies alone: Huffman's and Fano's codes.
#pragma once

#include <cstdint>

#include "tree/builder.hpp"

namespace labeltrees {

// labels (n,) with weights (n,) >= 0; n >= 1. Ties go to the smaller label id.
TreeArrays huffman_tree(const int32_t* labels, const double* weights, int64_t n);
TreeArrays fano_tree(const int32_t* labels, const double* weights, int64_t n);

}  // namespace labeltrees
