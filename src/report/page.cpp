// Writes HTML pages, which run no script but their own: escaped text, tables that readers search, and the page of a verdict.
#include "report/page.h"

#include <algorithm>

#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout {

// Escaped text.
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_allowed(char32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n';
  return !(code >= 0x7F && code < 0xA0) && code != 0xFFFE && code != 0xFFFF;
}

}  // namespace

std::string printable_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const bool allowed = character.length > 0 && is_allowed(character.code);
    out += allowed ? text.substr(0, character.length) : kReplacement;
    text.remove_prefix(character.length > 0 ? character.length : 1);
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr auto kEntities = std::to_array<const char*>({"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"});
  std::string out;
  for (const char c : printable_markup(text)) {
    const std::size_t special = kSpecial.find(c);
    out += special == std::string_view::npos ? std::string(1, c) : kEntities[special];
  }
  return out;
}

std::string breakable_markup(std::string_view name) {
  std::string out;
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find_first_of("/_.:", begin), name.size() - 1) + 1;
    out += escape_markup(name.substr(begin, end - begin));
    // A point before a digit may be a decimal point.
    const bool is_point = name[end - 1] == '.' && end < name.size() && name[end] >= '0' && name[end] <= '9';
    if (begin > 0 && end < name.size() && !is_point) out += "<wbr>";
    begin = end;
  }
  return out;
}

std::string html_class(Style style) {
  constexpr auto kClasses = std::to_array<const char*>({"", "strong", "good", "bad", "warning", "faint"});  // in the order of Style
  return kClasses[static_cast<std::size_t>(style)];
}

// Tables.
namespace {

std::string classes(const Cell& cell, bool is_text = false) {
  const std::string out = joined({html_class(cell.style), cell.align == Align::right ? "right" : "", is_text ? "text" : ""}, " ");
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

std::string html_line(const std::vector<Cell>& pieces) {
  if (pieces.size() == 1) return "<p" + classes(pieces.front()) + ">" + escape_markup(pieces.front().text) + "</p>\n";
  return "<p>" + joined(pieces, "", [](const Cell& one) { return "<span" + classes(one) + ">" + escape_markup(one.text) + "</span>"; }) +
         "</p>\n";
}

// Pages.
namespace {

constexpr std::string_view kStyle =
    R"(:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--faint:#6b6b6b;--line:#d9d9d9;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#161616;--faint:#a0a0a0;--line:#3a3a3a;--bad:#ff8a80}}
*{box-sizing:border-box}body{margin:0 auto;max-width:110rem;padding:1rem;font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.25rem;margin:.2rem 0;overflow-wrap:anywhere}h2{font-size:1rem;margin:1.4rem 0 .3rem}
table{border-collapse:collapse}th,td{padding:.1rem .7rem .1rem 0;text-align:left;vertical-align:middle;white-space:nowrap}
th{font-weight:600;color:var(--faint);border-bottom:1px solid var(--line)}
.wide{overflow:auto;max-height:90vh}thead th{position:sticky;top:0;background:var(--paper)}.filter{display:block;color:var(--faint);font-size:.9rem;margin:.3rem 0}
@media (max-width:600px){.wide:has(.cards){max-height:none}.cards,.cards tbody,.cards tr,.cards td{display:block}.cards thead,.cards td:empty,.cards tr[hidden]{display:none}
.cards tr{border-bottom:1px solid var(--line);padding:.3rem 0}.cards td,.cards td.text,.cards td:last-child{height:auto;min-width:0;padding:0;text-align:left;white-space:normal;overflow-wrap:anywhere}
.cards td.right{display:inline-block;margin-right:.8rem}.cards td[data-head]:not(:first-child)::before{content:attr(data-head)' ';color:var(--faint)}}
@media print{@page{margin:1cm}body{padding:0;font-size:10px}.wide{overflow:visible;max-height:none}thead th{position:static}tr{break-inside:avoid}.filter,.search{display:none}
th,td{padding-right:.4rem}}
.filter:has(input:checked)+div tbody tr:not(.hit){display:none}.faint{color:var(--faint)}.bad{color:var(--bad);font-weight:600}
)";

/// JSON that cannot close its enclosing element.
std::string embedded(const Json& data) {
  std::string out;
  for (const char c : data.dump(-1)) out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

/// Base64 of RFC 4648, with padding.
std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8U | (k < count ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

}  // namespace

std::string html_page(std::string_view title, std::string_view body, std::string_view style, const Json& data, std::string_view script) {
  if (script.empty() && body.find(kSearchBox) != std::string_view::npos) script = kSearchScript;
  // The policy allows the script by its hash (Content Security Policy Level 3, "hash-source").
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'" +
      (script.empty() ? "" : "; script-src 'sha256-" + base64(digest_of(script)) + "'") +
      "\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  out += escape_markup(title);
  out += "</title>\n<style>";
  out += kStyle;
  out += style;
  out += "</style>\n";
  out += body;
  out += "\n<script type=\"application/json\" id=\"data\">";
  out += embedded(data);
  out += "</script>\n";
  if (!script.empty()) out.append("<script>").append(script).append("</script>\n");
  out += "</html>\n";
  return out;
}

}  // namespace relayout
