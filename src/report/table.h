// Declares tables of text and what fits them into the width of a terminal.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// Words in lines of at most `width` columns, all lines but the first indented; no newline at the end. Colours have no width.
[[nodiscard]] std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width);

/// The parts of a text between separators.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
/// The texts of items with `separator` between them; empty texts are left out.
template <class Items, class Text = std::identity>
[[nodiscard]] std::string joined(const Items& items, std::string_view separator, Text text = {}) {
  std::string out;
  for (const auto& item : items) {
    const std::string_view between = out.empty() ? "" : separator;
    const std::string one(std::invoke(text, item));
    if (!one.empty()) out.append(between).append(one);
  }
  return out;
}
[[nodiscard]] inline std::string joined(std::initializer_list<std::string> texts, std::string_view separator) {
  return joined<std::initializer_list<std::string>>(texts, separator);
}

/// A CSV field as in RFC 4180. Text that a spreadsheet would take for a formula is prefixed with an apostrophe.
[[nodiscard]] std::string csv_field(std::string_view text);
/// A line of such fields, or of numbers.
[[nodiscard]] std::string csv_record(std::span<const std::string> fields);
/// Text in a Markdown cell, as code, so that nothing in it is markup.
[[nodiscard]] std::string markdown_code(std::string_view text);

/// A row of a Markdown table.
[[nodiscard]] std::string markdown_row(std::initializer_list<std::string> cells);

/// A bar of text characters, ten for `part` equal to `most`. It can be printed and needs no colours.
[[nodiscard]] std::string text_bar(double part, double most);
/// The same for a difference, after its sign.
[[nodiscard]] std::string signed_bar(double difference, double most);

/// The meaning of a piece of text; shown by colour on a terminal, and not at all in a pipe.
enum class Style { plain, strong, good, bad, warning, faint };

/// `text` with the codes of a terminal for `style` if `color` is set, else unchanged.
[[nodiscard]] std::string paint(std::string_view text, Style style, bool color);

enum class Align { left, right };

/// The forms of a report, to be joined by |.
enum class Form : uint8_t { quiet = 1, text = 2, page = 4, markdown = 8, every = 14 };
[[nodiscard]] constexpr Form operator|(Form one, Form other) noexcept {
  return static_cast<Form>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}
[[nodiscard]] constexpr bool has_form(Form forms, Form one) noexcept {
  return (static_cast<unsigned>(forms) & static_cast<unsigned>(one)) != 0;
}

/// How a report is shown. Pages and Markdown have any width and no colours.
struct ReportStyle {
  bool verbose = false;
  bool color = false;
  std::size_t width = 0;   ///< columns; 0: any
  Form form = Form::text;  ///< `quiet`: the verdict alone

  [[nodiscard]] bool quiet() const noexcept { return form == Form::quiet; }
};

/// Tables have fewer columns in terminals narrower than this.
inline constexpr std::size_t kUsualWidth = 80;
[[nodiscard]] inline bool has_columns(const ReportStyle& style, std::size_t width) {
  return style.width == 0 || style.width >= width;
}

/// A piece of text in a table. Of the head of a column, its forms and least width hold for all cells below it.
struct Cell {
  std::string text;
  Style style = Style::plain;
  Align align = Align::left;
  Form forms = Form::every;     ///< that show it
  std::size_t least_width = 0;  ///< of the terminal that shows it

  Cell(std::string t, Style s = Style::plain, Align a = Align::left)  // NOLINT(google-explicit-constructor): text is a cell
      : text(std::move(t)), style(s), align(a) {}
  Cell(const char* t, Style s = Style::plain, Align a = Align::left)  // NOLINT(google-explicit-constructor): text is a cell
      : text(t), style(s), align(a) {}
  [[nodiscard]] Cell only(Form f) && {
    forms = f;
    return std::move(*this);
  }
  [[nodiscard]] Cell from(std::size_t width) && {
    least_width = width;
    return std::move(*this);
  }
};

[[nodiscard]] inline Cell right(std::string text, Style style = Style::plain) {
  return {std::move(text), style, Align::right};
}

/// Rows of cells in aligned columns, for every form. Text has no rules and no borders: two or more blanks separate the columns.
/// Text must already be printable (escape() of base/text.h for names from files).
class Table {
 public:
  struct Options {
    std::size_t indent = 0;  ///< blanks before each row of text
    std::size_t gap = 3;     ///< blanks between columns of text
  };
  explicit Table(Options options) : options_(options) {}
  Table() : Table(Options{}) {}

  /// Names the columns, before the first row. The rows' cells are aligned as their names.
  void head(std::vector<Cell> cells);
  /// The same, where text shows the rows alone.
  void head_of_page(std::vector<Cell> cells);
  /// Adds a row and returns this table. Rows may have different numbers of cells; missing cells are empty.
  Table& row(std::vector<Cell> cells);
  /// Adds a remark on the row added last: a line below it in text, its last cell in pages.
  void note(std::string text, Style style = Style::plain);
  /// The same for a line outside of the columns, of pieces side by side; pages and Markdown show lines of tables without rows alone.
  Table& line(std::vector<Cell> pieces);
  Table& line(std::string text, Style style = Style::plain) { return line(std::vector{Cell(std::move(text), style)}); }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// The table as text: names are shortened where that makes it fit the width. Every row ends in a newline; none has trailing blanks.
  [[nodiscard]] std::string text(const ReportStyle& style = {}) const;
  /// The table of a page, as html_table() of report/page.h writes it, or paragraphs; empty without rows and lines.
  [[nodiscard]] std::string html(const std::string& boxes = {}) const;
  /// The table in Markdown. Cells are code, so that nothing in them is markup, but for right-aligned ones, which are numbers, and words of
  /// letters alone behind the first column.
  [[nodiscard]] std::string markdown() const;

 private:
  struct Row {
    enum class Kind { cells, note, line };
    Kind kind = Kind::cells;
    std::vector<Cell> cells;
  };
  /// The cells that a form shows.
  [[nodiscard]] std::vector<Cell> shown(const std::vector<Cell>& cells, const ReportStyle& style) const;
  /// The head and the rows of a form that has cells alone: notes are their last ones.
  [[nodiscard]] std::vector<std::vector<Cell>> cells_of(Form form) const;
  [[nodiscard]] bool has_rows() const;
  Options options_;
  std::vector<Cell> head_;
  bool has_text_head_ = false;
  std::vector<Row> rows_;
};

}  // namespace relayout
