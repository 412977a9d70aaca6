// Lays out tables for terminals and pages, and writes fields of CSV and Markdown, and bars.
#include "report/table.h"

#include <array>
#include <cmath>

#include "base/positions.h"
#include "report/page.h"

namespace relayout {
namespace {

/// SGR codes in the order of Style.
constexpr auto kCodes = std::to_array<std::string_view>({"", "1", "32", "31", "33", "2"});

/// Whether the text is a name, which may be shortened, and not a sentence.
bool is_name(std::string_view text) {
  return text.find(' ') == std::string_view::npos;
}

}  // namespace

std::string paint(std::string_view text, Style style, bool color) {
  const std::string_view code = kCodes[static_cast<std::size_t>(style)];
  if (!color || code.empty() || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

// Tables.
namespace {

/// Lays out the rows of one table; lines between them have no cells.
class Layout {
 public:
  Layout(const std::vector<std::vector<Cell>>& rows, const Table::Options& options, const ReportStyle& style)
      : rows_(rows), options_(options), style_(style) {
    for (const auto& cells : rows) {
      widths_.resize(std::max(widths_.size(), cells.size()), 0);
      for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], display_width(cells[i].text));
    }
    shrink();
    for (std::size_t i = 0; i < widths_.size(); ++i) columns_.push_back(column(i));
  }

  /// One row. Blanks are deferred until text follows, so that no row has trailing blanks.
  [[nodiscard]] std::string row(std::size_t at) const {
    std::string out;
    std::size_t owed = options_.indent;
    for (std::size_t i = 0; i < rows_[at].size(); ++i) {
      const Cell& cell = rows_[at][i];
      const std::string& text = columns_[i][at];
      const std::size_t width = display_width(text), pad = width < widths_[i] ? widths_[i] - width : 0;
      if (cell.align == Align::right) owed += pad;
      if (!text.empty()) out += std::string(std::exchange(owed, 0), ' ') + paint(text, cell.style, style_.color);
      if (cell.align == Align::left) owed += pad;
      owed += widths_[i] == 0 ? 0 : options_.gap;
    }
    return out + "\n";
  }

 private:
  [[nodiscard]] bool has_names_only(std::size_t column) const {
    return std::ranges::all_of(rows_, [&](const auto& cells) { return column >= cells.size() || is_name(cells[column].text); });
  }

  /// Narrows the widest columns of names until a row fits or no name can be shortened further.
  void shrink() {
    constexpr std::size_t kShortest = 20;  // enough to distinguish names of one scope by their ends
    std::size_t total = options_.indent;
    for (const std::size_t width : widths_) total += width + (width == 0 ? 0 : options_.gap);
    total -= std::min(total, options_.gap);
    while (style_.width > 0 && total > style_.width) {
      std::size_t widest = widths_.size();
      for (std::size_t i = 0; i < widths_.size(); ++i) {
        const bool may_shrink = widths_[i] > kShortest && has_names_only(i);
        if (may_shrink && (widest == widths_.size() || widths_[i] > widths_[widest])) widest = i;
      }
      if (widest == widths_.size()) return;
      const std::size_t less = std::min(total - style_.width, widths_[widest] - kShortest);
      widths_[widest] -= less;
      total -= less;
    }
  }

  /// The texts of a column, by row: names no wider than the column and still distinguishable, sentences unchanged.
  [[nodiscard]] std::vector<std::string> column(std::size_t number) const {
    std::vector<std::string> out, names;
    std::vector<std::size_t> places;
    for (const auto& cells : rows_) {
      out.push_back(number >= cells.size() ? "" : cells[number].text);
      if (!is_name(out.back())) continue;
      places.push_back(out.size() - 1);
      names.push_back(out.back());
    }
    const std::vector<std::string> apart = shortened_apart(names, widths_[number]);
    for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] = apart[i];
    return out;
  }

  const std::vector<std::vector<Cell>>& rows_;
  const Table::Options& options_;
  const ReportStyle& style_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> columns_;
};

}  // namespace

void Table::head(std::vector<Cell> cells) {
  head_ = std::move(cells);
  has_text_head_ = true;
}

void Table::head_of_page(std::vector<Cell> cells) {
  head_ = std::move(cells);
}

Table& Table::row(std::vector<Cell> cells) {
  for (std::size_t i = 0; i < std::min(cells.size(), head_.size()); ++i) cells[i].align = head_[i].align;
  rows_.push_back({Row::Kind::cells, std::move(cells)});
  return *this;
}

void Table::note(std::string text, Style style) {
  rows_.push_back({Row::Kind::note, {{std::move(text), style}}});
}

Table& Table::line(std::vector<Cell> pieces) {
  rows_.push_back({Row::Kind::line, std::move(pieces)});
  return *this;
}

bool Table::has_rows() const {
  return std::ranges::find(rows_, Row::Kind::cells, &Row::kind) != rows_.end();
}

std::vector<Cell> Table::shown(const std::vector<Cell>& cells, const ReportStyle& style) const {
  std::vector<Cell> out;
  const auto has = [&](const Cell& cell) { return has_form(cell.forms, style.form) && has_columns(style, cell.least_width); };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (has(cells[i]) && (i >= head_.size() || has(head_[i]))) out.push_back(cells[i]);
  }
  return out;
}

std::string Table::text(const ReportStyle& style) const {
  ReportStyle loud = style;
  loud.form = Form::text;
  std::vector<std::vector<Cell>> rows;
  if (has_text_head_) {
    rows.push_back(shown(head_, loud));
    for (Cell& cell : rows.front()) cell.style = Style::faint;
  }
  for (const Row& row : rows_) rows.push_back(row.kind == Row::Kind::cells ? shown(row.cells, loud) : std::vector<Cell>());
  const Layout layout(rows, options_, style);
  std::string out = has_text_head_ ? layout.row(0) : "";
  std::size_t at = rows.size() - rows_.size();
  for (const Row& row : rows_) {
    if (row.kind == Row::Kind::note) out += std::string(options_.indent + 2, ' ');
    const auto painted = [&](const Cell& cell) { return paint(cell.text, cell.style, style.color); };
    out += row.kind == Row::Kind::cells ? layout.row(at) : joined(row.cells, "", painted) + "\n";
    ++at;
  }
  return out;
}

std::vector<std::vector<Cell>> Table::cells_of(Form form) const {
  const ReportStyle style{.form = form};
  std::vector<std::vector<Cell>> out{shown(head_, style)};
  const bool has_notes = std::ranges::find(rows_, Row::Kind::note, &Row::kind) != rows_.end();
  if (has_notes) out.front().emplace_back("");
  for (const Row& row : rows_) {
    if (row.kind == Row::Kind::note) out.back().back() = row.cells.front();
    if (row.kind != Row::Kind::cells) continue;
    out.push_back(shown(row.cells, style));
    if (has_notes) out.back().emplace_back("");
  }
  return out;
}

std::string Table::html(const std::string& boxes) const {
  if (!has_rows()) return joined(rows_, "", [](const Row& row) { return html_line(row.cells); });
  std::vector<std::vector<Cell>> rows = cells_of(Form::page);
  const std::vector<Cell> head = std::move(rows.front());
  rows.erase(rows.begin());
  return html_table(head, rows, boxes);
}

std::string Table::markdown() const {
  const auto is_word = [](std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ' || c == ','; });
  };
  const auto text = [&](const Cell& cell, bool is_first) {
    return cell.align == Align::right || (!is_first && is_word(cell.text)) ? cell.text : markdown_code(cell.text);
  };
  std::string out;
  if (!has_rows()) {
    for (const Row& row : rows_) out += joined(row.cells, "", &Cell::text) + "\n";
    return out;
  }
  const std::vector<std::vector<Cell>> rows = cells_of(Form::markdown);
  out = "|";
  for (const Cell& cell : rows.front()) out += " " + cell.text + " |";
  out += "\n|" + joined(rows.front(), "", [](const Cell& cell) { return cell.align == Align::right ? "---:|" : "---|"; }) + "\n";
  for (const std::vector<Cell>& row : std::span(rows).subspan(1)) {
    out += "|";
    for (std::size_t i = 0; i < rows.front().size(); ++i) out += " " + (i < row.size() ? text(row[i], i == 0) : "") + " |";
    out += "\n";
  }
  return out;
}

// Fields of exported tables, and bars.

std::string csv_field(std::string_view text) {
  std::string out(text);
  if (!out.empty() && std::string_view("=+-@\t\r").find(out.front()) != std::string_view::npos) out.insert(0, 1, '\'');
  if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_record(std::span<const std::string> fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i > 0 ? "," : "") + fields[i];
  return out + "\r\n";
}

std::string markdown_code(std::string_view text) {
  if (text.empty()) return "";
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '`' ? "'" : std::string(1, c);
  return "`" + out + "`";
}

std::string markdown_row(std::initializer_list<std::string> cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + cell + " |";
  return out + "\n";
}

std::string text_bar(double part, double most) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr std::size_t kSigns = 10;  // length of the largest bar
  const auto eighths = as_size(std::llround(8 * kSigns * std::clamp(most > 0 ? part / most : 0, 0.0, 1.0)));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + std::string(kEighths[eighths % 8]);
}

std::string signed_bar(double difference, double most) {
  return (difference < 0 ? "− " : difference > 0 ? "+ " : "") + text_bar(std::abs(difference), most);
}

}  // namespace relayout
