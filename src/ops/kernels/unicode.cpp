// UTF-8, and Unicode's simple case mapping independent of the locale.

#include "ops/kernels/unicode.h"

#include <locale.h>
#include <wctype.h>

#include <clocale>
#include <cstddef>
#include <cstdint>
#include <cwctype>
#include <string>
#include <string_view>

namespace relayout {
namespace {

constexpr char32_t kStrayByte = 0xDC00;

/// Length of the sequence that a first byte announces, 0 when it announces none, and the byte's own bits.
struct Lead {
  std::size_t length;
  char32_t bits;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, byte};
  if (byte >= 0xC2 && byte < 0xE0) return {2, byte & 0x1FU};
  if (byte >= 0xE0 && byte < 0xF0) return {3, byte & 0x0FU};
  if (byte >= 0xF0 && byte < 0xF5) return {4, byte & 0x07U};
  return {0, 0};
}

/// The sequence at the start of `text`, or nothing of length 0 (RFC 3629: no overlong forms, no surrogates).
Lead sequence_at(std::string_view text) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  Lead lead = lead_of(static_cast<uint8_t>(text[0]));
  if (lead.length == 0 || lead.length > text.size()) return {0, 0};
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0U) != 0x80) return {0, 0};
    lead.bits = lead.bits << 6U | (byte & 0x3FU);
  }
  const bool surrogate = lead.bits >= 0xD800 && lead.bits < 0xE000;
  return lead.bits < kLeast[lead.length] || surrogate || lead.bits > 0x10FFFF ? Lead{0, 0} : lead;
}

/// Case mappings of all of Unicode, without touching the process's locale; null when the system lacks them.
locale_t case_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Lead lead = sequence_at(text);
    out.push_back(lead.length > 0 ? lead.bits : kStrayByte + static_cast<uint8_t>(text[0]));
    text.remove_prefix(lead.length > 0 ? lead.length : 1);
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
