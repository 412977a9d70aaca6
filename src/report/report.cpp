// Renders reports as text, as pages and as Markdown.
#include "report/report.h"

#include <algorithm>

#include "report/page.h"

namespace relayout {
namespace {

/// A part in one form.
std::string rendered(const Section& section, const ReportStyle& style) {
  const Section::Part part = section.part(style);
  if (const Markup* const markup = std::get_if<Markup>(&part)) return markup->html;
  const Table* const table = std::get_if<Table>(&part);
  const std::string text = table == nullptr ? std::get<std::string>(part) : "";
  switch (style.form) {
    case Form::page:
      if (table != nullptr) return table->html(section.boxes);
      return text.empty() ? "" : "<pre class='text'>" + escape_markup(text) + "</pre>\n";
    case Form::markdown:
      return table != nullptr ? table->markdown() : text;
    default:
      return table != nullptr ? table->text(style) : text;
  }
}

/// Calls `add` with each section of a form and what it shows, unless that is nothing.
template <class Add>
void for_each_part(const Report& report, const ReportStyle& style, const Add& add) {
  for (const Section& section : report.sections) {
    if (!has_form(section.forms, style.form)) continue;
    const std::string part = rendered(section, style);
    if (!part.empty()) add(section, part);
  }
}

constexpr std::string_view kSheet = R"(
:root{--good:#1a7f37;--warning:#8a6100;--first:#0b5cad;--second:#8a8a8a}
@media (prefers-color-scheme:dark){:root{--good:#4ac26b;--warning:#d4a72c;--first:#6cb6ff}}
h1{font-size:2rem}.subject,footer{color:var(--faint);overflow-wrap:anywhere}footer{margin-top:2rem;font-size:.9rem}
.good{color:var(--good)}.warning{color:var(--warning)}.strong{font-weight:600}.right{text-align:right;font-variant-numeric:tabular-nums}
pre.text{white-space:pre-wrap}p{margin:.2rem 0;overflow-wrap:anywhere;max-width:72rem}td.text{white-space:normal;overflow-wrap:anywhere;min-width:9rem}section{overflow-x:auto}
@media (min-width:1000px){table:has(th:nth-child(9)){font-size:.85rem}tr:has(td:nth-child(5)) td.text:first-child{min-width:11rem}}
svg{width:100%;max-width:60rem;height:auto;display:block}svg .label{font:12px system-ui,sans-serif;fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3px}svg .small{font-size:10px}
svg .middle{text-anchor:middle}svg .end{text-anchor:end}svg .grid{stroke:var(--line)}svg .floor{stroke:var(--ink);stroke-width:2}
svg .bound{stroke:var(--ink);stroke-width:2;stroke-dasharray:3 2}svg .mark{stroke:var(--bad);stroke-dasharray:2 3}
svg rect.good{fill:var(--good);fill-opacity:.55}svg .bad{fill:var(--bad)}svg .plain{fill:var(--first);fill-opacity:.7}
svg .line{fill:none;stroke-width:2}svg .line0{stroke:var(--first)}svg .line1{stroke:var(--second)}svg .dashed{stroke-dasharray:5 4}
svg .hit{fill:transparent}svg .frame{fill:var(--first);stroke:var(--paper)}svg .shade0{fill-opacity:.2}svg .shade1{fill-opacity:.45}
svg .shade2{fill-opacity:.3}svg .shade3{fill-opacity:.6}svg g:hover .frame{stroke:var(--ink)}
svg .work{fill:var(--first);fill-opacity:.35;stroke:var(--ink);stroke-opacity:.6}
@media print{section{overflow:visible}td.text{min-width:0}table:has(th:nth-child(9)){font-size:7px}}
@media screen and (max-width:600px){svg.broad{display:none}}
@media print,screen and (min-width:600.02px){svg.slim{display:none}}
)";

/// A sign that shows the verdict without colour.
std::string_view sign_of(Style style) {
  constexpr auto kSigns = std::to_array<std::string_view>({"", "", "✓ ", "✗ ", "⚠ ", ""});  // in the order of Style
  return kSigns[static_cast<std::size_t>(style)];
}

}  // namespace

Report text_report(std::function<std::string(const ReportStyle&)> text, std::function<Json()> document, int code) {
  return {.sections = {{Form::text | Form::quiet, "", std::move(text)}}, .document = std::move(document), .code = code};
}

std::string text_of(const Report& report, const ReportStyle& style) {
  std::string out;
  for_each_part(report, style, [&](const Section&, const std::string& part) { out += part; });
  return out;
}

std::string html_of(const Report& report) {
  if (report.page) return report.page();
  const Cell& verdict = report.verdict;
  std::string body = "<h1 class='" + html_class(verdict.style) + "'>" + std::string(sign_of(verdict.style)) + escape_markup(verdict.text) +
                     "</h1>\n<p class='subject'>" + escape_markup(report.subject) + "</p>\n";
  for_each_part(report, {.form = Form::page}, [&](const Section& section, const std::string& part) {
    const std::string title = section.title.empty() ? "" : "<h2>" + escape_markup(section.title) + "</h2>";
    body += "<section>" + title + "\n" + part + "</section>\n";
  });
  body += "<footer>" + escape_markup(report.footer) + "</footer>\n";
  const std::string title = report.title.empty() ? verdict.text + ": " + report.subject : report.title;
  return html_page(title, body, kSheet, report.document());
}

std::string markdown_of(const Report& report) {
  std::string out;
  for_each_part(report, {.form = Form::markdown}, [&](const Section& section, const std::string& part) {
    out += "\n" + (section.title.empty() ? "" : "**" + section.title + "**\n\n") + part;
  });
  if (out.empty()) return markdown_text(report.suites);
  return "### " + markdown_code(report.subject) + ": " + report.verdict.text + "\n" + out;
}

}  // namespace relayout
