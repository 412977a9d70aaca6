// Whether the locale has UTF-8 (LC_ALL, LC_CTYPE, LANG), and the ASCII replacements of signs such as → and ± in messages and reports where
// it has not.
#include "base/locale.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/environment.h"
#include "base/text.h"

namespace relayout {
namespace {

constexpr auto kSigns = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"→", "->"},  {"·", "|"},     {"…", "..."}, {"×", "x"}, {"–", "-"}, {"≤", "<="},       {"≥", ">="}, {"±", "+-"},
    {"∞", "inf"}, {"σ", "sigma"}, {"█", "#"},   {"▌", "#"}, {"░", "."}, {"°", " degrees"}, {"µ", "u"},  {"−", "-"},
    {"›", ">"},   {"▉", "#"},     {"▊", "#"},   {"▋", "#"}, {"▍", "-"}, {"▎", "-"},        {"▏", "-"},
});

bool g_measures_ascii = false;

}  // namespace

bool locale_has_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = ascii_lower(environment(name));
    if (value.empty()) continue;
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

std::string ascii_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const auto* const sign = std::ranges::find_if(kSigns, [&](const auto& pair) { return text.starts_with(pair.first); });
    if (sign != kSigns.end()) {
      out += sign->second;
      text.remove_prefix(sign->first.size());
      continue;
    }
    std::array<char, 5> hex{};
    std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned char>(text.front()));
    out += hex.data();
    text.remove_prefix(1);
  }
  return out;
}

std::string in_locale(std::string_view text) {
  return locale_has_utf8() ? std::string(text) : ascii_text(text);
}

void measure_ascii(bool on) {
  g_measures_ascii = on;
}

bool measures_ascii() noexcept {
  return g_measures_ascii;
}

}  // namespace relayout
