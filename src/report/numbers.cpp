// Numbers as reports print them.
#include "report/numbers.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace relayout {
namespace {

/// The longest "%.*f" of a double has 309 digits before the point.
using Digits = std::array<char, 400>;

}  // namespace

std::string fixed(double value, int digits) {
  Digits text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string significant(double value, int digits) {
  Digits text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

std::string scientific(double value) {
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  Digits text{};
  std::snprintf(text.data(), text.size(), "%.1e", value);
  return text.data();
}

std::string seconds_text(double seconds) {
  return fixed(seconds, seconds < 10 ? 1 : 0) + " s";
}

}  // namespace relayout
