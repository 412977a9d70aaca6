// Writes tables of HTML pages, which readers can search and filter.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout {
namespace {

std::string classes(const Cell& cell, bool is_text = false) {
  std::string out(html_class(cell.style));
  if (cell.align == Align::right) out += out.empty() ? "right" : " right";
  if (is_text) out += out.empty() ? "text" : " text";
  return out.empty() ? out : " class='" + out + "'";
}

constexpr std::size_t kLongTable = 20;  ///< rows that a screen shows without scrolling

/// The begin of the search box that html_table() writes for kSearchScript. It stays hidden, with all rows visible, where scripts do not
/// run.
constexpr std::string_view kSearchBox = "<p class='search' hidden><input type='search' placeholder='search' aria-label='search'>";

/// Hides the rows that lack a word of the search box above their table, or whose second cell is the value of an unticked box.
constexpr std::string_view kSearchScript = R"js(
'use strict';
for (const search of document.querySelectorAll('p.search')) {
  let table = search;
  while (!table.matches('.wide')) table = table.nextElementSibling;
  const rows = [...table.querySelectorAll('tbody tr')], texts = rows.map(row => row.textContent.toLowerCase());
  const states = rows.map(row => row.cells[1]?.textContent);
  const input = search.querySelector('input'), shown = search.querySelector('output');
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(word => word);
    const unticked = [...search.querySelectorAll('input[type=checkbox]:not(:checked)')].map(box => box.value);
    let count = 0;
    rows.forEach((row, i) => {
      row.hidden = unticked.includes(states[i]) || !words.every(word => texts[i].includes(word));
      count += !row.hidden;
    });
    shown.textContent = count === rows.length ? '' : count + ' of ' + rows.length;
  };
  search.hidden = false;
  search.addEventListener('input', filter);
  filter();
}
)js";

constexpr std::size_t kLongCell = 24;  ///< in characters: longer than most types and shapes

/// Columns of names and sentences, which may take several lines to leave room for the others.
std::vector<bool> breaking_columns(const std::vector<std::vector<Cell>>& rows) {
  std::vector<bool> out(1, true);
  for (const auto& row : rows) {
    out.resize(std::max(out.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) out[i] = out[i] || display_width(row[i].text) > kLongCell;
  }
  return out;
}

/// HTML of a cell with the name of its column, which narrow screens show in place of the head.
std::string html_cell(const Cell& cell, const std::string& title, bool may_break) {
  const bool is_text = may_break && cell.align != Align::right;
  return "<td" + classes(cell, is_text) + (title.empty() ? "" : " data-head='" + escape_markup(title) + "'") + ">" +
         (is_text ? breakable_markup(cell.text) : escape_markup(cell.text)) + "</td>";
}

/// Whether some cell is a warning or worse.
bool is_marked(const std::vector<Cell>& row) {
  return std::ranges::any_of(row, [](const Cell& cell) { return cell.style == Style::bad || cell.style == Style::warning; });
}

}  // namespace

std::string_view html_class(Style style) {
  switch (style) {
    case Style::strong:
      return "strong";
    case Style::good:
      return "good";
    case Style::bad:
      return "bad";
    case Style::warning:
      return "warning";
    case Style::faint:
      return "faint";
    case Style::plain:
      break;
  }
  return "";
}

std::string html_table(const std::vector<Cell>& head, const std::vector<std::vector<Cell>>& rows, const std::string& boxes) {
  // Long tables can be filtered to rows with a warning or worse, or by the words of a search.
  const bool is_long = rows.size() > kLongTable;
  const auto marked = std::ranges::count_if(rows, is_marked);
  std::string out;
  if (is_long || !boxes.empty()) out.append(kSearchBox).append(boxes).append(" <output></output></p>\n");
  if (is_long && marked > 0) {
    out += "<label class='filter'><input type='checkbox'> only marked rows (" + format_count(marked) + " of " +
           format_count(std::ssize(rows)) + ")</label>\n";
  }
  out += "<div class='wide'><table class='cards'><thead><tr>";
  for (const Cell& cell : head) out += "<th" + classes(cell) + ">" + escape_markup(cell.text) + "</th>";
  out += "</tr></thead><tbody>\n";
  const std::vector<bool> may_break = breaking_columns(rows);
  for (const auto& row : rows) {
    out += is_marked(row) ? "<tr class='hit'>" : "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += html_cell(row[i], i < head.size() ? head[i].text : "", may_break[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string_view search_script(std::string_view body) {
  return body.find(kSearchBox) != std::string_view::npos ? kSearchScript : std::string_view();
}

std::string html_lines(const std::vector<Cell>& lines) {
  std::string out;
  for (const Cell& cell : lines) out += "<p" + classes(cell) + ">" + escape_markup(cell.text) + "</p>\n";
  return out;
}

}  // namespace relayout
