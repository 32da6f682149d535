// Reads numbers in text as Python's float() does and rounds them to float32.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace labeltrees::xmc {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// Whether a token ends here: blank, tab or end of line. '\r' ends a token too; the caller checks whether it is allowed.
inline bool is_end(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Appends the digits at p to number and moves p past them. A non-digit must follow. (Reading eight digits at a time
// with word arithmetic was slower: the ids and values of real files are short.)
inline void read_digits(const char*& p, uint64_t& number) {
  for (unsigned digit; (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) <= 9; ++p) number = number * 10 + digit;
}

inline constexpr uint64_t kTooLargeId = std::numeric_limits<uint64_t>::max();

// Reads the digits at p, at least one, and moves p past them.
inline uint64_t read_id(const char*& p) {
  const char* start = p;
  uint64_t id = 0;
  read_digits(p, id);
  if (p - start > 18) [[unlikely]] {
    while (*start == '0') ++start;
    if (p - start > 18) return kTooLargeId;
  }
  return id;
}

enum class NumberFault { none, not_a_number, not_finite };

// Reads a number with an exponent or many digits, or finds what is wrong with it. [p, end) is the token without sign.
inline NumberFault read_long_number(const char* p, const char* end, double& value) {
  // First the syntax, and the decimal position of the first nonzero digit without the exponent.
  const char* start = p;
  int64_t digits = 0, lead = 0;
  bool nonzero = false;
  for (; p < end && is_digit(*p); ++p, ++digits) {
    nonzero = nonzero || *p != '0';
    lead += nonzero;
  }
  if (p < end && *p == '.') {
    for (++p; p < end && is_digit(*p); ++p, ++digits) {
      nonzero = nonzero || *p != '0';
      lead -= !nonzero;
    }
  }
  if (digits == 0) return NumberFault::not_a_number;
  int64_t exponent = 0;
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    if (p == end || !is_digit(*p)) return NumberFault::not_a_number;
    for (; p < end && is_digit(*p); ++p)
      if (exponent < (int64_t{1} << 58)) exponent = exponent * 10 + (*p - '0');
    if (negative) exponent = -exponent;
  }
  if (p != end) return NumberFault::not_a_number;
  // from_chars does not distinguish too small from too large, so the position of the first digit decides.
  value = 0.0;
  if (!nonzero || lead + exponent < -400) return NumberFault::none;
  if (lead + exponent > 400) return NumberFault::not_finite;
  auto result = std::from_chars(start, end, value);
  if (result.ec == std::errc::result_out_of_range) {
    if (lead + exponent > 0) return NumberFault::not_finite;
    value = 0.0;
  }
  return NumberFault::none;
}

// Reads the number at p and moves p to the end of its token. A value that is too large for float32 is not finite.
inline NumberFault read_number(const char*& p, float& value) {
  static constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* start = p;
  uint64_t mantissa = 0;
  read_digits(p, mantissa);
  int64_t digits = p - start, decimals = 0;
  if (*p == '.') {
    const char* first_decimal = ++p;
    read_digits(p, mantissa);
    decimals = p - first_decimal;
    digits += decimals;
  }
  double number;
  if (is_end(*p) && digits > 0 && digits <= 15) [[likely]] {
    // At most 15 digits and a power of ten are exact doubles, so the quotient is the correctly rounded double.
    number = static_cast<double>(static_cast<int64_t>(mantissa)) / kPowersOfTen[decimals];
  } else {
    while (!is_end(*p)) ++p;
    const NumberFault fault = read_long_number(start, p, number);
    if (fault != NumberFault::none) return fault;
    if (static_cast<float>(number) > std::numeric_limits<float>::max()) return NumberFault::not_finite;
  }
  value = static_cast<float>(negative ? -number : number);
  return NumberFault::none;
}

}  // namespace labeltrees::xmc
