// Writes points as lines of the XMC repository's text format.
#pragma once

#include <cstdint>
#include <string>

namespace labeltrees {

// Appends the lines of the points [first, last) to text (out). Point i has labels[label_ptr[i] .. label_ptr[i + 1]) and
// likewise features and values. A value is the shortest text that reads back as the same float32.
void write_xmc_lines(int64_t first, int64_t last, const int64_t* feature_ptr, const int32_t* features,
                     const float* values, const int64_t* label_ptr, const int32_t* labels, std::string& text);

}  // namespace labeltrees
