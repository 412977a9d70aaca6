// Declares pages of HTML: escaped text, the frame, and tables.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"
#include "report/table.h"

namespace relayout {

/// `text` with U+FFFD in place of everything that XML 1.0 and HTML forbid: bytes that are not UTF-8, control characters except tab and
/// newline, U+FFFE, U+FFFF.
[[nodiscard]] std::string printable_markup(std::string_view text);
/// printable_markup() with & < > " ' as entities: safe in elements and in quoted attributes.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// HTML of a name that may be broken after the separators '/', '_', '.' and ':'.
[[nodiscard]] std::string breakable_markup(std::string_view name);

/// The class of a style in the style sheet; empty for plain text.
[[nodiscard]] std::string html_class(Style style);

/// A self-contained page: it loads nothing, and runs nothing but `script`, by default the search of its tables. It has light and dark
/// styles, and is readable in black and white and on a phone. `body` is HTML, in which text from files must be escaped (escape_markup()).
/// `style` extends the common style sheet. `data` is the content of the page for programs. The page's policy allows only its own script to
/// run, so that text from files cannot.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body, std::string_view style, const Json& data,
                                    std::string_view script = {});

/// A table with a head; cells are text with style and alignment. Wide tables scroll separately. A search box filters the rows of long
/// tables, and of tables with `boxes`: the markup of checkboxes. A row is shown if its second cell is not the value of an unticked box.
[[nodiscard]] std::string html_table(const std::vector<Cell>& head, const std::vector<std::vector<Cell>>& rows,
                                     const std::string& boxes = {});
/// A line of pieces side by side, as a paragraph.
[[nodiscard]] std::string html_line(const std::vector<Cell>& pieces);

}  // namespace relayout
