// Writes numbers as text, the same in every locale.
#include "base/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "relayout/error.h"

namespace relayout {
namespace {

/// The longest fixed form of a double has 309 digits before the point.
constexpr std::size_t kMostDigits = 400;

template <class Number, class... Format>
std::string text_of(Number value, Format... format) {
  std::array<char, kMostDigits> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, format...).ptr};
}

}  // namespace

std::string fixed(double value, int digits) {
  return text_of(value, std::chars_format::fixed, digits);
}

std::string significant(double value, int digits) {
  return text_of(value, std::chars_format::general, digits);
}

std::string three_digits(double value) {
  const double size = std::abs(value);
  return fixed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

std::string percent_text(double share) {
  return fixed(100 * share, 1) + " %";
}

std::string share_text(double share) {
  return significant(share < 1 ? std::min(100 * share, 99.99) : 100.0, 4) + " %";
}

std::string decibels(double ratio) {
  return std::isinf(ratio) ? (ratio > 0 ? "no loss" : "nothing left") : fixed(ratio, 1) + " dB";
}

std::string scientific(double value) {
  if (value == 0) return "0";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  return text_of(value, std::chars_format::scientific, 1);
}

std::string shortest(double value) {
  return std::isnan(value) ? "nan" : text_of(value);
}

std::string shortest(float value) {
  return std::isnan(value) ? "nan" : text_of(value);
}

std::string exact_number(double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? shortest(narrow) : shortest(value);
}

std::string seconds_text(double seconds) {
  return fixed(seconds, seconds < 10 ? 1 : 0) + " s";
}

namespace {

/// A count in the unit in which it is below `limit`: 1, thousands, millions … up to the last of `units`.
struct Scaled {
  double value;
  std::size_t unit = 0;

  Scaled(int64_t count, double limit, std::size_t units) : value(static_cast<double>(count)) {
    for (; value >= limit && unit + 1 < units; ++unit) value /= 1000;
  }
};

constexpr double kOneDigit = 999.95, kThreeDigits = 999.5;  ///< these round to 1000 with one digit after the point, with three digits

}  // namespace

std::string format_bytes(int64_t bytes) {
  constexpr std::array kUnits = {" B", " kB", " MB", " GB", " TB"};
  const auto [value, unit] = Scaled(bytes, kOneDigit, kUnits.size());
  return fixed(value, unit == 0 ? 0 : 1) + kUnits[unit];
}

std::string short_count(int64_t count) {
  constexpr std::array kUnits = {"", " k", " M", " G", " T"};
  const auto [value, unit] = Scaled(count, kOneDigit, kUnits.size());
  return fixed(value, unit == 0 ? 0 : 1) + kUnits[unit];
}

std::string macs_text(int64_t macs) {
  constexpr std::array kUnits = {" MAC", " kMAC", " MMAC", " GMAC", " TMAC"};
  const auto [value, unit] = Scaled(macs, kThreeDigits, kUnits.size());
  return (unit == 0 ? fixed(value, 0) : three_digits(value)) + kUnits[unit];
}

std::string format_count(int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string counted(int64_t count, std::string_view noun) {
  return format_count(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string counted(int64_t count, std::string_view one, std::string_view many) {
  return format_count(count) + " " + std::string(count == 1 ? one : many);
}

int64_t parse_integer(const std::string& what, std::string_view text, int64_t minimum) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto refuse = [&](const std::string& why) { fail(ErrorKind::usage, what + ": " + quote(text) + why); };
  if (error == std::errc::result_out_of_range) refuse(" does not fit 64 bits");
  if (error != std::errc{} || end != text.data() + text.size()) refuse(" is not a whole number");
  if (value < minimum) refuse(" is less than " + std::to_string(minimum));
  return value;
}

}  // namespace relayout
