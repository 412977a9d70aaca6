// Escapes text for HTML and XML, and lets long names break.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"
#include "report/page.h"

namespace relayout {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_allowed(char32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n';
  return !(code >= 0x7F && code < 0xA0) && code != 0xFFFE && code != 0xFFFF;
}

}  // namespace

std::string printable_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
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
    // A point before a digit may be a decimal point.
    const bool is_point = name[end - 1] == '.' && end < name.size() && name[end] >= '0' && name[end] <= '9';
    if (begin > 0 && end < name.size() && !is_point) out += "<wbr>";
    begin = end;
  }
  return out;
}

}  // namespace relayout
