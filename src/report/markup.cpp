// Text in HTML and XML.
#include "report/markup.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace relayout {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// One character of UTF-8: its code point and length; length 0 where the bytes are none.
struct Character {
  uint32_t code = 0;
  std::size_t length = 0;
};

Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  uint32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[length] || code > 0x10FFFF || surrogate ? Character{} : Character{code, length};
}

bool is_allowed(uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n';
  return !(code >= 0x7F && code < 0xA0) && code != 0xFFFE && code != 0xFFFF;
}

}  // namespace

std::string printable_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode(text);
    const bool allowed = character.length > 0 && is_allowed(character.code);
    out += allowed ? text.substr(0, character.length) : kReplacement;
    text.remove_prefix(character.length > 0 ? character.length : 1);
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : printable_markup(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string breakable_markup(std::string_view name) {
  std::string out;
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find_first_of("/_.:", begin), name.size() - 1) + 1;
    out += escape_markup(name.substr(begin, end - begin));
    // A point in front of a digit may be that of a number.
    const bool is_point = name[end - 1] == '.' && end < name.size() && name[end] >= '0' && name[end] <= '9';
    if (begin > 0 && end < name.size() && !is_point) out += "<wbr>";
    begin = end;
  }
  return out;
}

}  // namespace relayout
