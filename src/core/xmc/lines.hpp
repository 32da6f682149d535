// Reads the lines of points of the XMC format.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "xmc/parser.hpp"

namespace labeltrees {

// Text of the file for an error message: long text is cut, and bytes that cannot be printed are escaped.
std::string quoted(const char* begin, const char* end);
[[noreturn]] void fail_at_line(int64_t line, const std::string& fault);

// Reads whole lines into rows. Every line must end with '\n': every loop stops there and need not check for the end of
// the block.
class XmcLines {
 public:
  struct Limits {
    int64_t n_points, n_features, n_labels;
    int index_base;
  };

  XmcLines(const Limits& limits, XmcRows& rows);

  // Reads [begin, end), whose first line is point number first_point, and returns the number of the next point.
  int64_t read(const char* begin, const char* end, int64_t first_point);

 private:
  const char* read_line(const char* p);
  const char* read_labels(const char* p);
  const char* read_features(const char* p);
  void sort_labels(int64_t first);
  void sort_features(int64_t first);
  void note_first_and_last(const GrowingArray<int32_t>& ids, int64_t first, int64_t limit, bool is_label);
  [[noreturn]] void fail(const std::string& fault) const { fail_at_line(line_, fault); }
  [[noreturn]] void fail_at_id(const char* p, bool is_label) const;
  [[noreturn]] void fail_at_value(const char* p, int32_t feature, bool is_number) const;

  const Limits limits_;
  const uint64_t low_, feature_span_, label_span_;  // an id is valid if id - low < span
  XmcRows& rows_;
  int64_t line_ = 0;
  std::vector<std::pair<int32_t, float>> scratch_;
};

}  // namespace labeltrees
