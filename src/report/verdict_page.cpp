// The HTML page of a report: the verdict with its sign (✓ ✗ ⚠), subject, sections and footer; style sheet for charts, phones and print.
#include "report/verdict_page.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "report/html_table.h"
#include "report/markup.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout {
namespace {

constexpr std::string_view kSheet = R"(
:root{--good:#1a7f37;--warning:#8a6100;--first:#0b5cad;--second:#8a8a8a}
@media (prefers-color-scheme:dark){:root{--good:#4ac26b;--warning:#d4a72c;--first:#6cb6ff}}
h1{font-size:2rem}.subject,footer{color:var(--faint);overflow-wrap:anywhere}footer{margin-top:2rem;font-size:.9rem}
.good{color:var(--good)}.warning{color:var(--warning)}.strong{font-weight:600}.right{text-align:right;font-variant-numeric:tabular-nums}
p{margin:.2rem 0;overflow-wrap:anywhere;max-width:72rem}td.text{white-space:normal;overflow-wrap:anywhere;min-width:9rem}section{overflow-x:auto}
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
  switch (style) {
    case Style::good:
      return "✓ ";
    case Style::bad:
      return "✗ ";
    case Style::warning:
      return "⚠ ";
    default:
      return "";
  }
}

}  // namespace

std::string html_page(const VerdictPage& page) {
  std::string body = "<h1 class='" + std::string(html_class(page.style)) + "'>" + std::string(sign_of(page.style)) +
                     escape_markup(page.verdict) + "</h1>\n<p class='subject'>" + escape_markup(page.subject) + "</p>\n";
  for (const VerdictPage::Section& section : page.sections) {
    if (section.body.empty()) continue;
    body += "<section>" + (section.title.empty() ? std::string() : "<h2>" + escape_markup(section.title) + "</h2>") + "\n" + section.body +
            "</section>\n";
  }
  return html_page(page.title, body + "<footer>" + escape_markup(page.footer) + "</footer>\n", kSheet, page.data, search_script(body));
}

}  // namespace relayout
