// Numbers as text, the same in every locale.
#include "base/numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>

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

}  // namespace relayout
