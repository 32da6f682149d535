// Lists of labels as Python hands them to a search of either model.
#pragma once

#include <optional>

#include "common/bindings.hpp"
#include "search/engine.hpp"

namespace labeltrees {

inline LabelLists label_lists(const std::optional<ConstArray<int64_t>>& indptr,
                              const std::optional<ConstArray<int32_t>>& labels) {
  static const int32_t none = 0;
  LabelLists lists;
  if (!labels) return lists;
  lists.labels = labels->size() ? labels->data() : &none;  // an empty list is a list
  lists.n = static_cast<int64_t>(labels->size());
  if (indptr) lists.indptr = indptr->data();
  return lists;
}

}  // namespace labeltrees
