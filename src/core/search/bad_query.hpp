#pragma once

#include <stdexcept>

namespace labeltrees {

// A query or an argument that a predictor does not accept; becomes InputError in Python.
struct BadQuery : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace labeltrees
