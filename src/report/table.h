#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace relayout {

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
