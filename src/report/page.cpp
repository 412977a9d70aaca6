// What all pages share: one file, one style sheet, nothing that runs.
#include "report/page.h"

#include <string>
#include <string_view>

#include "report/json.h"
#include "report/markup.h"

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
.filter:has(input:checked)+div tbody tr:not(.hit){display:none}.faint{color:var(--faint)}.bad{color:var(--bad);font-weight:600}
)";

/// JSON that cannot end the element it stands in.
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

}  // namespace

std::string html_page(std::string_view title, std::string_view body, std::string_view style, const Json& data) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  out += escape_markup(title);
  out += "</title>\n<style>";
  out += kStyle;
  out += style;
  out += "</style>\n";
  out += body;
  out += "\n<script type=\"application/json\" id=\"data\">";
  out += embedded(data);
  out += "</script>\n</html>\n";
  return out;
}

}  // namespace relayout
