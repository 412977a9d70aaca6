#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <span>
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

bool match_class(std::string_view& glob, char c) {
  // `glob` stands behind '['; a class without end is a literal '['.
  const std::size_t end = glob.find(']', glob.starts_with("!") || glob.starts_with("^") ? 2 : 1);
  if (end == std::string_view::npos) return c == '[';
  std::string_view set = glob.substr(0, end);
  glob.remove_prefix(end + 1);
  const bool negated = set.starts_with("!") || set.starts_with("^");
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found |= set[i] <= c && c <= set[i + 2];
      i += 2;
    } else {
      found |= set[i] == c;
    }
  }
  return found != negated;
}

}  // namespace

std::string escape(std::string_view name) {
  std::string out;
  std::size_t characters = 0;
  while (!name.empty()) {
    if (characters++ == kLongestName) return out + "…";
    const std::size_t length = utf8_length(name);
    const auto lead = static_cast<unsigned char>(name[0]);
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
  return out;
}

std::string quote(std::string_view name) {
  return "'" + escape(name) + "'";
}

bool glob_match(std::string_view glob, std::string_view text) {
  // The last '*' seen is the only place to come back to.
  std::string_view star_glob, star_text;
  bool star = false;
  while (true) {
    if (glob.starts_with('*')) {
      glob.remove_prefix(1);
      star = true;
      star_glob = glob;
      star_text = text;
      continue;
    }
    if (text.empty()) {
      if (glob.empty()) return true;
    } else if (!glob.empty()) {
      std::string_view rest = glob.substr(1);
      const bool matches = glob[0] == '?' || (glob[0] == '[' ? match_class(rest, text[0]) : glob[0] == text[0]);
      if (matches) {
        glob = rest;
        text.remove_prefix(1);
        continue;
      }
    }
    if (!star || star_text.empty()) return false;
    star_text.remove_prefix(1);
    text = star_text;
    glob = star_glob;
  }
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = word.size() / 3 + 2;  // farther away nobody means it
  for (const std::string_view candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t substituted = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
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
