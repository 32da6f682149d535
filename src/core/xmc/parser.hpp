// The XMC repository's text format, read block by block: a header "N D L", then a line "l1,l2 f:v f:v ..." per point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "common/growing_array.hpp"

namespace labeltrees {

// What is wrong with a file; the message starts with the line where there is one.
struct XmcFault : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The first line on which some id was seen; 0 = not seen.
struct Seen {
  int64_t line = 0;
  bool is_label = false;

  void note(int64_t at_line, bool label) {
    if (line == 0) *this = {at_line, label};
  }
};

// Points read so far, in CSR form: point i has the features [feature_ptr[i], feature_ptr[i+1]), sorted, and likewise
// its labels.
struct XmcRows {
  XmcRows();
  int64_t n_points() const { return feature_ptr.size() - 1; }

  GrowingArray<int64_t> feature_ptr, label_ptr;
  GrowingArray<int32_t> features, labels;
  GrowingArray<float> values;
  Seen zero;  // id 0
  Seen top;   // an id equal to D or L
};

class XmcParser {
 public:
  static constexpr int AUTO = -1;

  // index_base: 0, 1, or AUTO: ids count from 1 if one equals D or L, else from 0.
  explicit XmcParser(int index_base) : index_base_(index_base) {}

  // Reads the next bytes of the file; a line may be cut anywhere. Throws XmcFault, after which the parser is of no use.
  void feed(const char* block, size_t size);

  // Gives away the points read so far; reading goes on without them, so that a large file need not be held whole. With
  // AUTO their ids are as in the file.
  XmcRows take_rows();
  int64_t n_in_hand() const { return rows_.n_points(); }

  // The file has ended: checks the count of points and settles the base. The rows still in hand then count ids from 0.
  void finish();

  int64_t n_points() const { return n_points_; }
  int64_t n_features() const { return n_features_; }
  int64_t n_labels() const { return n_labels_; }
  // Whether ids counted from 1; where this was judged, top() says by which line.
  bool one_based() const { return index_base_ == 1; }
  const Seen& top() const { return rows_.top; }

 private:
  void read_lines(const char* begin, const char* end);
  void read_header(const char* begin, const char* end);

  int index_base_;
  bool has_header_ = false;
  int64_t n_points_ = 0, n_features_ = 0, n_labels_ = 0;
  int64_t next_point_ = 0;  // number of the point on the next line
  int64_t n_taken_ = 0;     // points given away
  std::string rest_;        // the line that the last block cut
  XmcRows rows_;
};

}  // namespace labeltrees
