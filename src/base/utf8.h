#pragma once

#include <cstddef>
#include <string_view>

namespace relayout {

/// One character of UTF-8; of length 0 for invalid bytes.
struct Utf8Character {
  char32_t code = 0;
  std::size_t length = 0;
};

/// The character at the start of a non-empty text, as defined by RFC 3629: no overlong forms, no surrogates.
[[nodiscard]] Utf8Character first_character(std::string_view text) noexcept;

}  // namespace relayout
