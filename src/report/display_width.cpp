// Width of text in columns of a terminal: emoji and ideographs take two, combining marks none.
#include "report/display_width.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace relayout {
namespace {

bool is_combining(char32_t point) {
  return (point >= 0x300 && point <= 0x36F) || (point >= 0x200B && point <= 0x200F) || (point >= 0x20D0 && point <= 0x20F0) ||
         (point >= 0xFE00 && point <= 0xFE0F);
}

/// Whether Unicode defines the character as wide: East Asian wide and fullwidth blocks, emoji.
bool is_wide(char32_t point) {
  return (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF && point != 0x303F) ||
         (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) || (point >= 0xFE30 && point <= 0xFE6F) ||
         (point >= 0xFF00 && point <= 0xFF60) || (point >= 0xFFE0 && point <= 0xFFE6) || (point >= 0x1F300 && point <= 0x1F64F) ||
         (point >= 0x1F900 && point <= 0x1F9FF) || (point >= 0x20000 && point <= 0x3FFFD);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  if (measures_ascii()) return ascii_text(text).size();
  std::size_t width = 0;
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    if (length == 0 || !is_combining(code)) width += is_wide(code) ? 2 : 1;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return width;
}

}  // namespace relayout
