#include <charconv>

#include "xmc/parser.hpp"

namespace labeltrees::xmc {

namespace {

constexpr size_t kLongestId = 11, kLongestValue = 16;

char* put(char* p, int32_t id) { return std::to_chars(p, p + kLongestId, id).ptr; }

char* put(char* p, float value) {
  // The only float32 whose shortest text, 7.038531e-26, becomes its neighbour when it is read as double and then
  // rounded to float32 (all 2^32 were tried). Nine digits are enough.
  constexpr float kNeedsNineDigits = 0x1.5c87fap-84f;
  if (value == kNeedsNineDigits || value == -kNeedsNineDigits)
    return std::to_chars(p, p + kLongestValue, value, std::chars_format::general, 9).ptr;
  return std::to_chars(p, p + kLongestValue, value).ptr;
}

}  // namespace

void write_xmc_lines(int64_t first, int64_t last, const int64_t* feature_ptr, const int32_t* features,
                     const float* values, const int64_t* label_ptr, const int32_t* labels, std::string& text) {
  for (int64_t i = first; i < last; ++i) {
    const int64_t n_labels = label_ptr[i + 1] - label_ptr[i], n_features = feature_ptr[i + 1] - feature_ptr[i];
    const size_t start = text.size();
    text.resize(start + n_labels * (kLongestId + 1) + n_features * (kLongestId + kLongestValue + 2) + kLongestValue);
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

}  // namespace labeltrees::xmc
