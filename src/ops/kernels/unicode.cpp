// Decodes UTF-8, stray bytes included, and maps cases independently of the locale.

#include <text.h>
#include <wctype.h>

#include <clocale>
#include <cstdint>
#include <cwctype>
#include <string>
#include <string_view>

#include "base/text.h"
#include "ops/kernels/regex.h"

namespace relayout {
namespace {

constexpr char32_t kStrayByte = 0xDC00;

/// Case mappings of all of Unicode, independent of the process's locale; null when the system lacks them.
locale_t case_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    out.push_back(character.length > 0 ? character.code : kStrayByte + static_cast<uint8_t>(text[0]));
    text.remove_prefix(character.length > 0 ? character.length : 1);
  }
  return out;
}

std::string encode_utf8(std::u32string_view points) {
  std::string out;
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<uint8_t>(byte))); };
  for (const char32_t point : points) {
    if (point < 0x80) {
      put(point);
    } else if (point >= kStrayByte && point < kStrayByte + 0x100) {
      put(point - kStrayByte);
    } else if (point < 0x800) {
      put(0xC0U | point >> 6U);
      put(0x80U | (point & 0x3FU));
    } else {
      if (point < 0x10000) {
        put(0xE0U | point >> 12U);
      } else {
        put(0xF0U | point >> 18U);
        put(0x80U | (point >> 12U & 0x3FU));
      }
      put(0x80U | (point >> 6U & 0x3FU));
      put(0x80U | (point & 0x3FU));
    }
  }
  return out;
}

char32_t to_lower(char32_t point) {
  if (point < 0x80 || case_locale() == nullptr) return point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
  return static_cast<char32_t>(towlower_l(static_cast<wint_t>(point), case_locale()));
}

char32_t to_upper(char32_t point) {
  if (point < 0x80 || case_locale() == nullptr) return point >= 'a' && point <= 'z' ? point - ('a' - 'A') : point;
  return static_cast<char32_t>(towupper_l(static_cast<wint_t>(point), case_locale()));
}

}  // namespace relayout
