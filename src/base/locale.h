#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// Whether LC_ALL, LC_CTYPE or LANG (the first that is set counts) name UTF-8.
[[nodiscard]] bool locale_has_utf8();

/// `text` in ASCII: signs of the reports as words or signs that resemble them ("→" as "->"), everything else as \xNN.
[[nodiscard]] std::string ascii_text(std::string_view text);

/// `text` as the locale's terminals can show it.
[[nodiscard]] std::string in_locale(std::string_view text);

/// From now on columns are laid out for what ascii_text() makes of them: several characters of a sign that is one in UTF-8.
void measure_ascii(bool on);
[[nodiscard]] bool measures_ascii() noexcept;

}  // namespace relayout
