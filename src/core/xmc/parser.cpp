#include "xmc/parser.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "xmc/number.hpp"

namespace labeltrees::xmc {

namespace {

constexpr size_t kLongestHeader = 1000;
constexpr int64_t kMaxIds = INT32_MAX;

void shift_down(GrowingArray<int32_t>& ids) {
  for (int32_t& id : ids) --id;
}

}  // namespace

XmcRows::XmcRows() {
  feature_ptr.push_back(0);
  label_ptr.push_back(0);
}

void XmcParser::feed(const char* block, size_t size) {
  const char* end = block + size;
  if (!unfinished_.empty()) {
    const void* newline = std::memchr(block, '\n', size);
    const char* line_end = newline ? static_cast<const char*>(newline) + 1 : end;
    unfinished_.append(block, line_end);
    block = line_end;
    if (newline) {
      read_lines(unfinished_.data(), unfinished_.data() + unfinished_.size());
      unfinished_.clear();
    }
  }
  const char* last = end;
  while (last > block && last[-1] != '\n') --last;
  if (last > block) read_lines(block, last);
  unfinished_.append(last, end);
  // A binary file may have no line end at all: reject it before all of it is in memory.
  if (!has_header_ && unfinished_.size() > kLongestHeader)
    read_header(unfinished_.data(), unfinished_.data() + unfinished_.size());
}

XmcRows XmcParser::take_rows() {
  XmcRows empty;
  empty.zero = rows_.zero;
  empty.top = rows_.top;
  n_taken_ += rows_.n_points();
  return std::exchange(rows_, std::move(empty));
}

void XmcParser::finish() {
  if (!unfinished_.empty()) {
    unfinished_ += '\n';
    read_lines(unfinished_.data(), unfinished_.data() + unfinished_.size());
    unfinished_.clear();
  }
  if (!has_header_) throw XmcError("the file is empty: no header 'N D L'");
  if (n_taken_ + rows_.n_points() != n_points_)
    throw XmcError("the header says N=" + std::to_string(n_points_) + " points, the file has " +
                   std::to_string(n_taken_ + rows_.n_points()));
  if (index_base_ == kAuto && rows_.top.line) {
    if (rows_.zero.line) {
      const bool top_is_label = rows_.top.is_label;
      fail_at_line(rows_.zero.line, std::string(rows_.zero.is_label ? "label" : "feature") +
                                        " id 0, but ids seem to count from 1: line " + std::to_string(rows_.top.line) +
                                        (top_is_label ? " has label id " : " has feature id ") +
                                        std::to_string(top_is_label ? n_labels_ : n_features_) +
                                        (top_is_label ? " (= L)" : " (= D)"));
    }
    shift_down(rows_.features);
    shift_down(rows_.labels);
    index_base_ = 1;
  } else if (index_base_ == kAuto) {
    index_base_ = 0;
  }
}

void XmcParser::read_lines(const char* begin, const char* end) {
  if (!has_header_) {
    const char* header_end = static_cast<const char*>(std::memchr(begin, '\n', end - begin));
    read_header(begin, header_end);
    has_header_ = true;
    begin = header_end + 1;
  }
  XmcLines lines({n_points_, n_features_, n_labels_, index_base_}, rows_);
  next_point_ = lines.read(begin, end, next_point_);
}

void XmcParser::read_header(const char* begin, const char* end) {
  const bool fits = static_cast<size_t>(end - begin) <= kLongestHeader;
  const std::string line = std::string(begin, fits ? end : begin) + '\n';
  const char* p = line.data();
  uint64_t counts[3] = {};
  int n = 0;
  for (;; ++n) {
    while (*p == ' ' || *p == '\t' || *p == '\r') ++p;
    if (!is_digit(*p) || n == 3) break;
    counts[n] = read_id(p);
    if (!is_end(*p)) break;
  }
  if (n != 3 || p != line.data() + line.size() - 1) {
    fail_at_line(1, "the header must be three counts, 'N D L', got " + quoted(begin, end));
  }
  const char* names[] = {"N", "D", "L"};
  for (int i = 0; i < 3; ++i)
    if (counts[i] > (i == 0 ? uint64_t{INT64_MAX} : uint64_t{kMaxIds}))
      fail_at_line(1, std::string("the header's ") + names[i] + " is too large");
  n_points_ = static_cast<int64_t>(counts[0]);
  n_features_ = static_cast<int64_t>(counts[1]);
  n_labels_ = static_cast<int64_t>(counts[2]);
}

}  // namespace labeltrees::xmc
