#include "xmc/writer.hpp"

#include <charconv>

namespace labeltrees {

namespace {

constexpr size_t LONGEST_ID = 11, LONGEST_VALUE = 16;

char* put(char* p, int32_t id) { return std::to_chars(p, p + LONGEST_ID, id).ptr; }

char* put(char* p, float value) {
  // The one float32 whose shortest text, 7.038531e-26, gives its neighbour when read as a double and then rounded, as
  // readers do (all 2^32 were tried). Nine digits do.
  constexpr float ODD_ONE = 0x1.5c87fap-84f;
  if (value == ODD_ONE || value == -ODD_ONE)
    return std::to_chars(p, p + LONGEST_VALUE, value, std::chars_format::general, 9).ptr;
  return std::to_chars(p, p + LONGEST_VALUE, value).ptr;
}

}  // namespace

void write_xmc_lines(int64_t first, int64_t last, const int64_t* feature_ptr, const int32_t* features,
                     const float* values, const int64_t* label_ptr, const int32_t* labels, std::string& text) {
  for (int64_t i = first; i < last; ++i) {
    const int64_t n_labels = label_ptr[i + 1] - label_ptr[i], n_features = feature_ptr[i + 1] - feature_ptr[i];
    const size_t start = text.size();
    text.resize(start + n_labels * (LONGEST_ID + 1) + n_features * (LONGEST_ID + LONGEST_VALUE + 2) + LONGEST_VALUE);
    char* p = text.data() + start;
    for (int64_t j = label_ptr[i]; j < label_ptr[i + 1]; ++j) {
      if (j > label_ptr[i]) *p++ = ',';
      p = put(p, labels[j]);
    }
    for (int64_t j = feature_ptr[i]; j < feature_ptr[i + 1]; ++j) {
      *p++ = ' ';
      p = put(p, features[j]);
      *p++ = ':';
      p = put(p, values[j]);
    }
    *p++ = '\n';
    text.resize(p - text.data());
  }
}

}  // namespace labeltrees
