#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// Code points of a UTF-8 string. An invalid byte becomes 0xDC00 plus the byte, which encode_utf8() turns back.
[[nodiscard]] std::u32string decode_utf8(std::string_view text);
[[nodiscard]] std::string encode_utf8(std::u32string_view points);

/// Unicode's simple case mapping, independent of the locale of the process.
[[nodiscard]] char32_t to_lower(char32_t point);
[[nodiscard]] char32_t to_upper(char32_t point);

}  // namespace relayout
