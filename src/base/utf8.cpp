// The only decoder of UTF-8 (refuses overlong forms and surrogates), for names in messages, texts in reports, and operators on strings.
#include "base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace relayout {
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

}  // namespace relayout
