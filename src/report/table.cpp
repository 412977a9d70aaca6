// Aligns text tables on a terminal, and writes fields of exported ones.
#include "report/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/positions.h"

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

void TextTable::row(std::vector<Cell> cells) {
  rows_.emplace_back(std::move(cells));
}

void TextTable::line(std::string text, Style style) {
  rows_.emplace_back(Line{std::move(text), style});
}

void TextTable::shrink(std::vector<std::size_t>& widths) const {
  constexpr std::size_t kShortest = 20;  // enough to distinguish names of one scope by their ends
  std::size_t total = options_.indent;
  for (const std::size_t width : widths) total += width + (width == 0 ? 0 : options_.gap);
  total -= std::min(total, options_.gap);
  while (options_.width > 0 && total > options_.width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool may_shrink = widths[i] > kShortest && has_names_only(i);
      if (may_shrink && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) return;
    const std::size_t less = std::min(total - options_.width, widths[widest] - kShortest);
    widths[widest] -= less;
    total -= less;
  }
}

bool TextTable::has_names_only(std::size_t column) const {
  return std::ranges::all_of(rows_, [&](const Row& row) {
    const auto* const cells = std::get_if<std::vector<Cell>>(&row);
    return cells == nullptr || column >= cells->size() || is_name((*cells)[column].text);
  });
}

std::vector<std::string> TextTable::column(std::size_t number, std::size_t width) const {
  std::vector<std::string> out, names;
  std::vector<std::size_t> places;
  for (const Row& row : rows_) {
    const auto* const cells = std::get_if<std::vector<Cell>>(&row);
    out.push_back(cells == nullptr || number >= cells->size() ? "" : (*cells)[number].text);
    if (!is_name(out.back())) continue;
    places.push_back(out.size() - 1);
    names.push_back(out.back());
  }
  const std::vector<std::string> apart = shortened_apart(names, width);
  for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] = apart[i];
  return out;
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const Row& row : rows_) {
    const auto* const cells = std::get_if<std::vector<Cell>>(&row);
    if (cells == nullptr) continue;
    widths.resize(std::max(widths.size(), cells->size()), 0);
    for (std::size_t i = 0; i < cells->size(); ++i) widths[i] = std::max(widths[i], display_width((*cells)[i].text));
  }

  shrink(widths);
  std::vector<std::vector<std::string>> columns;
  for (std::size_t i = 0; i < widths.size(); ++i) columns.push_back(column(i, widths[i]));

  std::string out;
  std::size_t row_number = 0;
  for (const Row& row : rows_) {
    const std::size_t at = row_number++;
    if (const auto* const line = std::get_if<Line>(&row)) {
      out += paint(line->text, line->style, options_.color) + "\n";
      continue;
    }
    const auto& cells = std::get<std::vector<Cell>>(row);
    // Blanks are deferred until text follows, so that no row has trailing blanks.
    std::size_t owed = options_.indent;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& text = columns[i][at];
      const std::size_t width = display_width(text), pad = width < widths[i] ? widths[i] - width : 0;
      if (cells[i].align == Align::right) owed += pad;
      if (!text.empty()) {
        out += std::string(owed, ' ') + paint(text, cells[i].style, options_.color);
        owed = 0;
      }
      if (cells[i].align == Align::left) owed += pad;
      owed += widths[i] == 0 ? 0 : options_.gap;
    }
    out += "\n";
  }
  return out;
}

// Fields of exported tables.

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

std::string text_bar(double part, double most) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr std::size_t kSigns = 10;  // length of the largest bar
  const auto eighths = as_size(std::llround(8 * kSigns * std::clamp(most > 0 ? part / most : 0, 0.0, 1.0)));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + std::string(kEighths[eighths % 8]);
}

}  // namespace relayout
