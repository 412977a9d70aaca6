// Reports the comparison of a model with its stored outputs.
#include <algorithm>

#include "cli/verify/report.h"

namespace relayout::cli {
namespace {

/// The limit that decided on a case with stored outputs.
std::string limit_text(const DataCase& one) {
  if (!one.by_tolerance) return "may be " + scientific(one.bound);
  return "each element within rtol " + scientific(one.rtol) + ", atol " + scientific(one.atol);
}

}  // namespace

std::string data_text(const DataResult& result, const ReportStyle& style) {
  Table table({.color = style.color, .width = style.width});
  int64_t passed = 0;
  for (const DataCase& one : result.cases) {
    const bool good = one.status == "passed";
    passed += good ? 1 : 0;
    const bool measured = one.bound > 0 && one.status != "unsupported";
    table.row({one.name,
               {one.status, good ? Style::good : Style::bad},
               measured ? "error/range " + scientific(one.error) : std::string(),
               measured ? limit_text(one) : std::string(),
               {seconds_text(one.seconds), Style::faint, Align::right}});
    if (!good && !one.message.empty()) table.line("  " + one.message, Style::bad);
    if (one.flips > 0) {
      table.line("  values moved by one ULP put " + counted(one.flips, "element") +
                 " of quantized tensors on another step, the first at node " + escape(one.flips_node));
    }
  }
  Table verdict({.color = style.color, .width = style.width});
  verdict.row({{format_count(passed) + " of " + format_count(static_cast<int64_t>(result.cases.size())) + " passed",
                result.passed() ? Style::good : Style::bad},
               exit_text(exit_code(result))});
  return style.quiet ? verdict.text() : table.text() + verdict.text();
}

Json data_json(const DataResult& result) {
  Json out = Json::object();
  out.set("schema", "relayout.verify-data/1").set("model", result.model);
  Json cases = Json::array(), summary = Json::object();
  for (const DataCase& one : result.cases) {
    Json entry = Json::object();
    entry.set("name", one.name).set("status", one.status).set("seconds", one.seconds).set("message", one.message);
    entry.set("error", one.error).set("bound", one.bound).set("decided_by", one.by_tolerance ? "tolerance" : "bound");
    entry.set("rtol", one.rtol).set("atol", one.atol);
    cases.add(std::move(entry.set("flips", one.flips).set("flips_node", one.flips_node)));
  }
  for (const char* const status : {"passed", "failed", "pass-loose", "unsupported"}) {
    summary.set(status, std::ranges::count(result.cases, std::string(status), &DataCase::status));
  }
  out.set("cases", std::move(cases)).set("summary", std::move(summary)).set("unsupported", unsupported_json(result.unsupported, "model"));
  return std::move(out.set("exit_code", exit_code(result)));
}

}  // namespace relayout::cli
