// Hands a tree's arrays to NumPy without copying.
#pragma once

#include "common/bindings.hpp"
#include "tree/arrays.hpp"

namespace labeltrees::tree {

using labeltrees::to_numpy;

inline Tuple<NumPy<int64_t>, NumPy<int32_t>> to_numpy(TreeArrays&& tree) {
  return nb::make_tuple(to_numpy(std::move(tree.child_ptr)), to_numpy(std::move(tree.children)));
}

}  // namespace labeltrees::tree
