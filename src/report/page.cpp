// Writes the frame of all HTML pages, which run no script but their own, and the page of a verdict.
#include "report/page.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout {
namespace {

constexpr std::string_view kStyle =
    R"(:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--faint:#6b6b6b;--line:#d9d9d9;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#161616;--faint:#a0a0a0;--line:#3a3a3a;--bad:#ff8a80}}
*{box-sizing:border-box}body{margin:0 auto;max-width:110rem;padding:1rem;font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.25rem;margin:.2rem 0;overflow-wrap:anywhere}h2{font-size:1rem;margin:1.4rem 0 .3rem}
table{border-collapse:collapse}th,td{padding:.1rem .7rem .1rem 0;text-align:left;vertical-align:middle;white-space:nowrap}
th{font-weight:600;color:var(--faint);border-bottom:1px solid var(--line)}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.wide{overflow:auto;max-height:90vh}thead th{position:sticky;top:0;background:var(--paper)}.filter{display:block;color:var(--faint);font-size:.9rem;margin:.3rem 0}
@media (max-width:600px){.wide:has(.cards){max-height:none}.cards,.cards tbody,.cards tr,.cards td{display:block}.cards thead,.cards td:empty,.cards tr[hidden]{display:none}
.cards tr{border-bottom:1px solid var(--line);padding:.3rem 0}.cards td,.cards td.text,.cards td:last-child{height:auto;min-width:0;padding:0;text-align:left;white-space:normal;overflow-wrap:anywhere}
.cards td.right,.cards td.n{display:inline-block;margin-right:.8rem}.cards td[data-head]:not(:first-child)::before{content:attr(data-head)' ';color:var(--faint)}}
@media print{@page{margin:1cm}body{padding:0;font-size:10px}.wide{overflow:visible;max-height:none}thead th{position:static}tr{break-inside:avoid}.filter,.search{display:none}
th,td{padding-right:.4rem}}
.filter:has(input:checked)+div tbody tr:not(.hit){display:none}.faint{color:var(--faint)}.bad{color:var(--bad);font-weight:600}
)";

/// JSON that cannot close its enclosing element.
std::string embedded(const Json& data) {
  std::string out;
  for (const char c : data.dump(-1)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
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

// The page of a verdict.
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
