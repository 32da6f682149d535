// Reads the XMC repository's text format block by block: a header "N D L", then a line "l1,l2 f:v f:v ..." per point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/memory.hpp"

namespace labeltrees::xmc {

// A file is invalid; the message starts with the line number if there is one.
struct XmcError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The first line with a certain id; 0 if there is none.
struct FirstSeen {
  int64_t line = 0;
  bool is_label = false;

  void note(int64_t at_line, bool label) {
    if (line == 0) *this = {at_line, label};
  }
};

// The points read so far as CSR: point i has features[feature_ptr[i] .. feature_ptr[i + 1]), ascending, and likewise
// labels.
struct XmcRows {
  XmcRows();
  int64_t n_points() const { return feature_ptr.size() - 1; }

  GrowingArray<int64_t> feature_ptr, label_ptr;
  GrowingArray<int32_t> features, labels;
  GrowingArray<float> values;
  FirstSeen zero;  // id 0
  FirstSeen top;   // an id equal to D or L
};

class XmcParser {
 public:
  static constexpr int kAuto = -1;

  // index_base: 0, 1, or kAuto: ids count from 1 if one equals D or L, else from 0.
  explicit XmcParser(int index_base) : index_base_(index_base) {}

  // Reads the next bytes of the file; a block may end anywhere in a line. Throws XmcError; the parser cannot be used
  // after that.
  void feed(const char* block, size_t size);

  // Hands over the points read so far and continues without them, so that a large file need not be in memory at once.
  // With kAuto their ids are those of the file.
  XmcRows take_rows();
  int64_t n_in_hand() const { return rows_.n_points(); }

  // To be called at the end of the file: checks the number of points and decides the index base. The ids of the rows
  // not yet taken then start at 0.
  void finish();

  int64_t n_points() const { return n_points_; }
  int64_t n_features() const { return n_features_; }
  int64_t n_labels() const { return n_labels_; }
  // Whether the ids of the file start at 1. If this was decided by the ids, top() has the line that shows it.
  bool one_based() const { return index_base_ == 1; }
  const FirstSeen& top() const { return rows_.top; }

 private:
  void read_lines(const char* begin, const char* end);
  void read_header(const char* begin, const char* end);

  int index_base_;
  bool has_header_ = false;
  int64_t n_points_ = 0, n_features_ = 0, n_labels_ = 0;
  int64_t next_point_ = 0;  // number of the point on the next line
  int64_t n_taken_ = 0;     // points handed over
  std::string unfinished_;  // the unfinished line at the end of the last block
  XmcRows rows_;
};

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

// Writes points as lines of the XMC repository's text format.
//
// Appends the lines of the points [first, last) to text (out). Point i has labels[label_ptr[i] .. label_ptr[i + 1]) and
// likewise features and values. A value is the shortest text that reads back as the same float32.
void write_xmc_lines(int64_t first, int64_t last, const int64_t* feature_ptr, const int32_t* features,
                     const float* values, const int64_t* label_ptr, const int32_t* labels, std::string& text);

}  // namespace labeltrees::xmc
