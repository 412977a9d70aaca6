#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace relayout {

/// The meaning of a piece of text; a terminal shows it by colour, a pipe not at all.
enum class Style { plain, strong, good, bad, warning, faint };

/// `text` as a terminal shows it in `style` when `color`, else as it is.
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

/// Rows of cells in aligned columns, with free lines between them. No rules and no borders: two or more blanks part the columns.
/// Text must be printable already (escape() of base/text.h for names from files).
class TextTable {
 public:
  struct Options {
    std::size_t indent = 0;  ///< blanks before each row
    std::size_t gap = 3;     ///< blanks between columns
    bool color = false;
    std::size_t width = 0;  ///< columns in all, as far as shortening names can keep to them; 0: any
  };
  explicit TextTable(Options options) : options_(options) {}
  TextTable() : TextTable(Options{}) {}

  /// Cells beyond the first row's count make the table wider; missing ones are empty.
  void row(std::vector<Cell> cells);
  /// A line that keeps to no column.
  void line(std::string text, Style style = Style::plain);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// Every row ends in a newline, none in blanks.
  [[nodiscard]] std::string text() const;

 private:
  struct Line {
    std::string text;
    Style style;
  };
  using Row = std::variant<std::vector<Cell>, Line>;
  /// Narrows the widest columns of names until a row fits, or no name can get shorter.
  void shrink(std::vector<std::size_t>& widths) const;
  [[nodiscard]] bool has_names_only(std::size_t column) const;
  /// The texts of a column, by row: names no wider than `width` and still told apart, sentences as they are.
  [[nodiscard]] std::vector<std::string> column(std::size_t number, std::size_t width) const;
  Options options_;
  std::vector<Row> rows_;
};

}  // namespace relayout
