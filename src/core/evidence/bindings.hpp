// Evidence as a Python object, with the arrays that it points into.
#pragma once

#include <vector>

#include "common/bindings.hpp"
#include "evidence/evidence.hpp"

namespace labeltrees::evidence {

struct NativeEvidence {
  Evidence evidence;
  std::vector<nb::object> arrays;
};

}  // namespace labeltrees::evidence
