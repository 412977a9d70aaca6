// Text for people: names made printable, quoted and cut, numbers with units, the nearest word.
#include "base/text.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {
namespace {

constexpr std::size_t kLongestName = 200;

/// Length of the well-formed UTF-8 sequence at `text[0]` (RFC 3629), or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (lead == 0xED && byte(1) > 0x9F) return 0;  // surrogates
  if (lead == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // beyond U+10FFFF
  if (lead == 0xC2 && byte(1) < 0xA0) return 0;  // C1 control characters
  return length;
}

}  // namespace

std::string escape(std::string_view name) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (name.size() <= kLongestName && std::ranges::all_of(name, is_plain)) return std::string(name);
  std::string out;
  std::vector<std::size_t> starts;  // of the characters in `out`
  while (!name.empty()) {
    const std::size_t length = utf8_length(name);
    const auto lead = static_cast<unsigned char>(name[0]);
    starts.push_back(out.size());
    if (length == 0 || lead < 0x20 || lead == 0x7F) {
      std::array<char, 5> hex{};
      std::snprintf(hex.data(), hex.size(), "\\x%02x", lead);
      out += hex.data();
      name.remove_prefix(1);
    } else {
      out += name.substr(0, length);
      name.remove_prefix(length);
    }
  }
  if (starts.size() <= kLongestName) return out;
  // Names of one scope differ at their ends.
  return out.substr(0, starts[kLongestName / 2]) + "…" + out.substr(starts[starts.size() - kLongestName / 2]);
}

std::string quote(std::string_view name) {
  return "'" + escape(name) + "'";
}

bool glob_match(std::string_view glob, std::string_view text) {
  return fnmatch(std::string(glob).c_str(), std::string(text).c_str(), FNM_NOESCAPE) == 0;
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return out.data();
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

}  // namespace relayout
