#pragma once

#include <stdexcept>

namespace labeltrees {

// A query or an argument of a call that is not accepted; becomes InputError in Python.
struct BadQuery : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace labeltrees
