// Makes names and words fit for messages: control characters visible, quotes, hints, and signs that the locale has.
#include "base/text.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <utility>

#include "base/machine.h"

namespace relayout {
namespace {

constexpr std::size_t kLongestName = 200;

/// Whether a character may be in a message unchanged: it is not a control character of ASCII or Latin-1.
bool is_printable(const Utf8Character& character) {
  return character.length > 0 && character.code >= 0x20 && (character.code < 0x7F || character.code >= 0xA0);
}

}  // namespace

std::string escape(std::string_view name) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (name.size() <= kLongestName && std::ranges::all_of(name, is_plain)) return std::string(name);
  std::string out;
  std::vector<std::size_t> starts;  // offsets of the characters in `out`
  while (!name.empty()) {
    const Utf8Character character = first_character(name);
    starts.push_back(out.size());
    if (is_printable(character)) {
      out += name.substr(0, character.length);
      name.remove_prefix(character.length);
    } else {
      std::array<char, 5> hex{};
      std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned char>(name[0]));
      out += hex.data();
      name.remove_prefix(1);
    }
  }
  if (starts.size() <= kLongestName) return out;
  // Names of one scope differ at their ends.
  return out.substr(0, starts[kLongestName / 2]) + "…" + out.substr(starts[starts.size() - kLongestName / 2]);
}

std::string quote(std::string_view name) {
  return "'" + escape(name) + "'";
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

bool glob_match(std::string_view glob, std::string_view text) {
  return fnmatch(std::string(glob).c_str(), std::string(text).c_str(), FNM_NOESCAPE) == 0;
}

// UTF-8.
namespace {

/// The length that a first byte announces, with the bits of the character in that byte.
Utf8Character announced_by(uint8_t byte) noexcept {
  if (byte < 0x80) return {byte, 1};
  if (byte >= 0xC2 && byte < 0xE0) return {byte & 0x1FU, 2};
  if (byte >= 0xE0 && byte < 0xF0) return {byte & 0x0FU, 3};
  if (byte >= 0xF0 && byte < 0xF5) return {byte & 0x07U, 4};
  return {};
}

}  // namespace

Utf8Character first_character(std::string_view text) noexcept {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  Utf8Character out = announced_by(static_cast<uint8_t>(text[0]));
  if (out.length > text.size()) return {};
  for (std::size_t i = 1; i < out.length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0U) != 0x80) return {};
    out.code = out.code << 6U | (byte & 0x3FU);
  }
  const bool is_surrogate = out.code >= 0xD800 && out.code < 0xE000;
  return out.code < kLeast[out.length] || is_surrogate || out.code > 0x10FFFF ? Utf8Character{} : out;
}

// Words for a shell.

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string file_word(const std::string& path) {
  return shell_word(path.starts_with('-') ? "./" + path : path);
}

// The hint of a known word.
namespace {

std::string_view nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string_view best;
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::size_t best_distance = letters / 3 + 2;  // from this distance on it is an unrelated word
  for (const std::string_view candidate : known) {
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

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view before) {
  const std::string_view nearest = nearest_word(word, known);
  return nearest.empty() ? std::string() : std::string(before) + "did you mean " + quote(nearest) + "?";
}

// Signs that the locale has not.
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
