// Declares what messages are made of: names made visible, words for a shell, hints, and signs that the locale has.

#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"

namespace relayout {

/// One character of UTF-8; of length 0 for invalid bytes.
struct Utf8Character {
  char32_t code = 0;
  std::size_t length = 0;
};

/// The character at the start of a non-empty text, as defined by RFC 3629: no overlong forms, no surrogates.
[[nodiscard]] Utf8Character first_character(std::string_view text) noexcept;

/// Whether LC_ALL, LC_CTYPE or LANG (the first that is set) names UTF-8.
[[nodiscard]] bool locale_has_utf8();

/// `text` in ASCII: signs used in reports as words or similar signs ("→" as "->"), everything else as \xNN.
[[nodiscard]] std::string ascii_text(std::string_view text);

/// `text` unchanged in UTF-8 locales, else ascii_text().
[[nodiscard]] std::string in_locale(std::string_view text);

/// Sets whether columns are laid out for the output of ascii_text(), in which a sign may have several characters.
void measure_ascii(bool on);
[[nodiscard]] bool measures_ascii() noexcept;

/// Lists cut in messages, "a, b and 3 more": `text` of each of the first `most` items, and the number of the others.
template <class Items, class Text>
[[nodiscard]] std::string some_of(const Items& items, std::ptrdiff_t most, Text text) {
  std::string out;
  std::ptrdiff_t shown = 0;
  for (const auto& item : items) {
    if (shown++ == most) return out + " and " + format_count(std::ssize(items) - most) + " more";
    out += (shown == 1 ? "" : ", ") + std::invoke(text, item);
  }
  return out;
}

/// A word of a command line, quoted for a shell if necessary.
[[nodiscard]] std::string shell_word(const std::string& word);

/// The path of a file as a word that commands cannot take for an option.
[[nodiscard]] std::string file_word(const std::string& path);

/// `before` followed by "did you mean 'x'?" for the known word with the fewest edits from `word`; empty if no known word is near enough.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view before = "");

/// Printable form of a name from a file: control characters and invalid UTF-8 as \xNN; "…" replaces the middle of more than 200 characters.
[[nodiscard]] std::string escape(std::string_view name);
/// escape() in single quotes.
[[nodiscard]] std::string quote(std::string_view name);
/// `text` with the letters A to Z in lower case.
[[nodiscard]] std::string ascii_lower(std::string_view text);
/// Whether `text` matches a shell glob of `*`, `?` and `[…]`; `*` crosses slashes.
[[nodiscard]] bool glob_match(std::string_view glob, std::string_view text);

}  // namespace relayout
