#pragma once

#include <cstddef>
#include <string_view>

namespace relayout {

/// One character of UTF-8; of length 0 where the bytes are none.
struct Utf8Character {
  char32_t code = 0;
  std::size_t length = 0;
};

/// The character at the start of a text that is not empty, as RFC 3629 has it: no overlong forms, no surrogates.
[[nodiscard]] Utf8Character first_character(std::string_view text) noexcept;

}  // namespace relayout
