// Trees from label frequencies alone: Huffman's and Fano's codes.
#pragma once

#include <cstdint>

#include "tree/view.hpp"

namespace labeltrees {

// IN: labels (n) with weights (n) >= 0; n >= 1. Equal weights: the smaller label id first.
TreeArrays huffman_tree(const int32_t* labels, const double* weights, int64_t n);
TreeArrays fano_tree(const int32_t* labels, const double* weights, int64_t n);

}  // namespace labeltrees
