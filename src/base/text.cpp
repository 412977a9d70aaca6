// Names in messages: control characters as \xNN, quotes, "…" in the middle beyond 200 characters; also lower case and the match of shell
// globs (`*`, `?`, `[…]`).
#include "base/text.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

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

}  // namespace relayout
