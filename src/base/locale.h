#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// Whether LC_ALL, LC_CTYPE or LANG (the first that is set) names UTF-8.
[[nodiscard]] bool locale_has_utf8();

/// `text` in ASCII: signs used in reports as words or similar signs ("→" as "->"), everything else as \xNN.
[[nodiscard]] std::string ascii_text(std::string_view text);

/// `text` unchanged in UTF-8 locales, else ascii_text().
[[nodiscard]] std::string in_locale(std::string_view text);

/// Sets whether columns are laid out for the output of ascii_text(), in which a sign may have several characters.
void measure_ascii(bool on);
[[nodiscard]] bool measures_ascii() noexcept;

}  // namespace relayout
