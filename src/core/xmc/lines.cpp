#include <algorithm>
#include <cstdio>

#include "xmc/number.hpp"
#include "xmc/parser.hpp"

namespace labeltrees::xmc {

namespace {

// The number of valid ids. While the index base is not known, both 0 and the count itself are valid.
uint64_t id_span(int64_t count, int index_base) {
  return static_cast<uint64_t>(index_base == XmcParser::kAuto && count > 0 ? count + 1 : count);
}

std::string quoted_token(const char* p) {
  const char* end = p;
  while (!is_end(*end)) ++end;
  return quoted(p, end);
}

const char* skip_blanks(const char* p) {
  while (*p == ' ' || *p == '\t') ++p;
  return *p == '\r' && p[1] == '\n' ? p + 1 : p;
}

}  // namespace

std::string quoted(const char* begin, const char* end) {
  constexpr int64_t kMaxQuoted = 30;
  std::string text = "'";
  for (const char* p = begin; p < std::min(end, begin + kMaxQuoted); ++p) {
    if (*p >= ' ' && *p < 127) {
      text += *p;
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(*p)));
      text += escaped;
    }
  }
  return text + (end - begin > kMaxQuoted ? "...'" : "'");
}

void fail_at_line(int64_t line, const std::string& fault) {
  throw XmcError("line " + std::to_string(line) + ": " + fault);
}

XmcLines::XmcLines(const Limits& limits, XmcRows& rows)
    : limits_(limits),
      low_(limits.index_base == 1 ? 1 : 0),
      feature_span_(id_span(limits.n_features, limits.index_base)),
      label_span_(id_span(limits.n_labels, limits.index_base)),
      rows_(rows) {}

int64_t XmcLines::read(const char* begin, const char* end, int64_t first_point) {
  // The header is line 1 and every line after it is a point: point i is on line i + 2.
  line_ = first_point + 1;
  int64_t left = limits_.n_points - first_point;
  for (const char* p = begin; p < end; --left) {
    ++line_;
    if (left > 0) {
      p = read_line(p);
    } else {
      p = skip_blanks(p);
      if (*p != '\n') fail("more points than the header says (N=" + std::to_string(limits_.n_points) + ")");
      ++p;
    }
  }
  return line_ - 1;
}

const char* XmcLines::read_line(const char* p) {
  p = read_features(read_labels(p));
  rows_.label_ptr.push_back(rows_.labels.size());
  rows_.feature_ptr.push_back(rows_.features.size());
  return p + 1;
}

const char* XmcLines::read_labels(const char* p) {
  if (is_end(*p)) return p;
  const char* line_start = p;
  const int64_t first = rows_.labels.size();
  bool sorted = true;
  for (int64_t previous = -1;; ++p) {
    if (!is_digit(*p)) {
      if (*p == ':') fail("the feature id before ':' is missing");
      if (is_end(*p) || *p == ',') fail("a label id is missing beside ','");
      fail_at_id(p, true);
    }
    const char* start = p;
    const uint64_t id = read_id(p);
    if (*p == ':') {
      if (start == line_start) return line_start;  // the first token is a feature: the point has no label
      fail("a ':' among the labels, at " + quoted_token(start));
    }
    if (*p != ',' && !is_end(*p)) fail_at_id(start, true);
    if (id - low_ >= label_span_) fail_at_id(start, true);
    const int32_t label = static_cast<int32_t>(id - low_);
    sorted = sorted && label > previous;
    previous = label;
    rows_.labels.push_back(label);
    if (*p != ',') break;
  }
  if (!sorted) sort_labels(first);
  note_first_and_last(rows_.labels, first, limits_.n_labels, true);
  return p;
}

const char* XmcLines::read_features(const char* p) {
  const int64_t first = rows_.features.size();
  bool sorted = true;
  for (int64_t previous = -1; *(p = skip_blanks(p)) != '\n';) {
    const char* start = p;
    if (!is_digit(*p)) {
      if (*p == ':') fail("the feature id before ':' is missing");
      fail_at_id(p, false);
    }
    const uint64_t id = read_id(p);
    if (*p != ':') {
      if (is_end(*p)) fail("a ':' is missing after feature id " + quoted_token(start));
      fail_at_id(start, false);
    }
    if (id - low_ >= feature_span_) fail_at_id(start, false);
    const int32_t feature = static_cast<int32_t>(id - low_);
    sorted = sorted && feature > previous;
    previous = feature;
    const char* value_start = ++p;
    float value;
    const NumberFault fault = read_number(p, value);
    if (fault != NumberFault::none) [[unlikely]]
      fail_at_value(value_start, static_cast<int32_t>(id), fault == NumberFault::not_finite);
    rows_.features.push_back(feature);
    rows_.values.push_back(value);
  }
  if (!sorted) sort_features(first);
  note_first_and_last(rows_.features, first, limits_.n_features, false);
  return p;
}

void XmcLines::sort_labels(int64_t first) {
  int32_t* begin = rows_.labels.begin();
  std::sort(begin + first, rows_.labels.end());
  rows_.labels.shrink(std::unique(begin + first, rows_.labels.end()) - begin);
}

void XmcLines::sort_features(int64_t first) {
  scratch_.clear();
  for (int64_t i = first; i < rows_.features.size(); ++i) scratch_.emplace_back(rows_.features[i], rows_.values[i]);
  std::sort(scratch_.begin(), scratch_.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < scratch_.size(); ++i) {
    if (i > 0 && scratch_[i].first == scratch_[i - 1].first)
      fail("feature id " + std::to_string(scratch_[i].first + static_cast<int64_t>(low_)) + " occurs twice");
    rows_.features[first + static_cast<int64_t>(i)] = scratch_[i].first;
    rows_.values[first + static_cast<int64_t>(i)] = scratch_[i].second;
  }
}

// Remembers whether 0 or the limit is among the ids from `first` on: they are sorted, so only two must be checked.
void XmcLines::note_first_and_last(const GrowingArray<int32_t>& ids, int64_t first, int64_t limit, bool is_label) {
  if (limits_.index_base != XmcParser::kAuto || ids.size() == first) return;
  if (ids.begin()[first] == 0) rows_.zero.note(line_, is_label);
  if (ids.end()[-1] == limit) rows_.top.note(line_, is_label);
}

void XmcLines::fail_at_id(const char* p, bool is_label) const {
  if (*p == '\r') fail("a carriage return in the middle of the line");
  const std::string name = is_label ? "label id" : "feature id";
  const char* start = p;
  const bool negative = *p == '-' && is_digit(p[1]);
  if (negative) ++p;
  const bool starts_with_digit = is_digit(*p);
  const uint64_t id = starts_with_digit ? read_id(p) : 0;
  const bool whole = starts_with_digit && (is_end(*p) || *p == (is_label ? ',' : ':'));
  if (!whole) fail(quoted_token(start) + " is not a " + name);
  const std::string text = name + " " + std::string(start, std::min(p, start + 30)) + (p - start > 30 ? "..." : "");
  if (negative) fail(text + " is negative");
  if (id < low_) fail(text + " in a file whose ids count from 1");
  const int64_t count = is_label ? limits_.n_labels : limits_.n_features;
  fail(text + " is out of range (the header says " + (is_label ? "L=" : "D=") + std::to_string(count) + ")");
}

void XmcLines::fail_at_value(const char* p, int32_t feature, bool is_number) const {
  const std::string name = "feature " + std::to_string(feature);
  if (is_end(*p)) fail(name + " has no value");
  const char* word = p + (*p == '-' || *p == '+');
  const bool spelled = (*word | 32) == 'n' || (*word | 32) == 'i';  // nan, inf
  if (is_number || spelled) fail("the value " + quoted_token(p) + " of " + name + " is not a finite float32");
  fail("the value " + quoted_token(p) + " of " + name + " is not a number");
}

}  // namespace labeltrees::xmc
