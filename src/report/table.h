// Declares tables of text and what fits them into the width of a terminal.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace relayout {

/// Columns of `text` on a terminal: wide characters count twice, combining marks not at all, and a byte that belongs to no character once.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `name` in at most `width` columns. "…" replaces the middle of a longer name, because names of one scope differ at their ends.
[[nodiscard]] std::string shortened(std::string_view name, std::size_t width);

/// The names of one table, each in at most `width` columns; different names stay different. If shortened() gives several names the same
/// form, their common parts are cut first; as a last resort they are numbered.
[[nodiscard]] std::vector<std::string> shortened_apart(const std::vector<std::string>& names, std::size_t width);

/// Breaks lines to at most `width` columns (0: unchanged). Lines are broken between cells (two or more blanks), before " · ", else between
/// words, never inside a word; a word longer than a line is shortened(). Colours have no width.
[[nodiscard]] std::string fit_lines(std::string_view text, std::size_t width);

/// A CSV field as in RFC 4180. Text that a spreadsheet would take for a formula is prefixed with an apostrophe.
[[nodiscard]] std::string csv_field(std::string_view text);
/// A line of such fields, or of numbers.
[[nodiscard]] std::string csv_record(std::span<const std::string> fields);
/// Text in a Markdown cell, as code, so that nothing in it is markup.
[[nodiscard]] std::string markdown_code(std::string_view text);

/// A bar of text characters, ten for `part` equal to `most`. It can be printed and needs no colours.
[[nodiscard]] std::string text_bar(double part, double most);

/// The meaning of a piece of text; shown by colour on a terminal, and not at all in a pipe.
enum class Style { plain, strong, good, bad, warning, faint };

/// `text` with the codes of a terminal for `style` if `color` is set, else unchanged.
[[nodiscard]] std::string paint(std::string_view text, Style style, bool color);

enum class Align { left, right };

struct Cell {
  std::string text;
  Style style = Style::plain;
  Align align = Align::left;

  Cell(std::string t, Style s = Style::plain, Align a = Align::left)  // NOLINT(google-explicit-constructor): text is a cell
      : text(std::move(t)), style(s), align(a) {}
  Cell(const char* t, Style s = Style::plain, Align a = Align::left)  // NOLINT(google-explicit-constructor): text is a cell
      : text(t), style(s), align(a) {}
};

[[nodiscard]] inline Cell right(std::string text, Style style = Style::plain) {
  return {std::move(text), style, Align::right};
}

/// Rows of cells in aligned columns, with free-form lines between them. No rules and no borders: two or more blanks separate the columns.
/// Text must already be printable (escape() of base/text.h for names from files).
class TextTable {
 public:
  struct Options {
    std::size_t indent = 0;  ///< blanks before each row
    std::size_t gap = 3;     ///< blanks between columns
    bool color = false;
    std::size_t width = 0;  ///< limit of the total width in columns, where shortening names suffices; 0: none
  };
  explicit TextTable(Options options) : options_(options) {}
  TextTable() : TextTable(Options{}) {}

  /// Adds a row. Rows may have different numbers of cells; missing cells are empty.
  void row(std::vector<Cell> cells);
  /// Adds a line outside of the columns.
  void line(std::string text, Style style = Style::plain);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// The table as text. Every row ends in a newline; none has trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  struct Line {
    std::string text;
    Style style;
  };
  using Row = std::variant<std::vector<Cell>, Line>;
  /// Narrows the widest columns of names until a row fits or no name can be shortened further.
  void shrink(std::vector<std::size_t>& widths) const;
  [[nodiscard]] bool has_names_only(std::size_t column) const;
  /// The texts of a column, by row: names no wider than `width` and still distinguishable, sentences unchanged.
  [[nodiscard]] std::vector<std::string> column(std::size_t number, std::size_t width) const;
  Options options_;
  std::vector<Row> rows_;
};

}  // namespace relayout
