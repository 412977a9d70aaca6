// Writes the differences of two traces as data, with the names that TraceDiff uses, and as a summary for merge requests.
#include <cmath>

#include "cli/diff/diff.h"
#include "cli/profile/profile.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

Json side_json(const Trace& trace) {
  Json out = Json::object();
  out.set("file", trace.path).set("source", trace.source).set("steps", trace.steps).set("outside", trace.outside);
  out.set("skipped", trace.skipped).set("first_skipped", trace.skipped > 0 ? Json(trace.first_skipped) : Json());
  return std::move(out.set("machine", trace.machine.empty() ? Json() : Json(trace.machine)));
}

}  // namespace

Json trace_diff_json(const TracePair& pair, const TraceGate& gate) {
  Json out = Json::object(), ops = Json::array(), classes = Json::object();
  out.set("control", side_json(*pair.control)).set("test", side_json(*pair.test));
  for (const OperationDifference& row : pair.rows) {
    Json entry = Json::object();
    entry.set("name", row.name).set("control_count", row.control_count).set("test_count", row.test_count);
    entry.set("control_us", row.control_us).set("test_us", row.test_us).set("diff_count", row.count_difference());
    entry.set("diff_us", row.difference_us()).set("class", to_string(row.counts)).set("time", to_string(row.time));
    entry.set("ratio_low", row.ratio.interval ? Json(row.ratio.interval->low) : Json());
    ops.add(std::move(entry.set("ratio_high", row.ratio.interval ? Json(row.ratio.interval->high) : Json())));
  }
  for (const CountClass kind : kCountClasses) {
    Json names = Json::array();
    for (const OperationDifference& row : pair.rows) {
      if (row.counts == kind) names.add(row.name);
    }
    // Names of TraceDiff's ops_diff.
    classes.set(kind == CountClass::removed ? "deleted" : to_string(kind), std::move(names));
  }
  out.set("ops", std::move(ops)).set("ops_diff", std::move(classes)).set("left_out", pair.left_out.size());
  return std::move(out.set("undecided", undecided_times(pair, gate)));
}

std::string trace_diff_csv(const std::vector<TracePair>& pairs) {
  std::string out = "file,operation,a_count,b_count,difference_count,a_us,b_us,difference_us,class,time,ratio_low,ratio_high\r\n";
  const auto number = [](double value) { return std::isfinite(value) ? shortest(value) : std::string(); };
  for (const TracePair& pair : pairs) {
    for (const OperationDifference& row : pair.rows) {
      const auto& interval = row.ratio.interval;
      const std::array<std::string, 12> fields = {csv_field(pair.test->path),
                                                  csv_field(row.name),
                                                  std::to_string(row.control_count),
                                                  std::to_string(row.test_count),
                                                  std::to_string(row.count_difference()),
                                                  shortest(row.control_us),
                                                  shortest(row.test_us),
                                                  shortest(row.difference_us()),
                                                  std::string(to_string(row.counts)),
                                                  std::string(to_string(row.time)),
                                                  interval ? number(interval->low) : "",
                                                  interval ? number(interval->high) : ""};
      out += csv_record(fields);
    }
  }
  return out;
}

std::string trace_diff_markdown(const TracePair& pair, const TraceChoice& choice) {
  std::string out = "### " + markdown_code(pair.control->path) + " → " + markdown_code(pair.test->path) + "\n\n" +
                    trace_diff_summary(pair) +
                    "\n\n| operation | A | B | A µs | B µs | difference | change |\n|---|---:|---:|---:|---:|---:|---|\n";
  for (std::size_t i = 0; i < pair.rows.size() && (choice.top == 0 || i < choice.top); ++i) {
    const OperationDifference& row = pair.rows[i];
    out += "| " + markdown_code(escape(row.name)) + " | " + format_count(row.control_count) + " | " + format_count(row.test_count) + " | " +
           microseconds_text(row.control_us) + " | " + microseconds_text(row.test_us) + " | " +
           signed_microseconds_text(row.difference_us()) + " | " + change_text(row) + " |\n";
  }
  for (const Trace* trace : {pair.control, pair.test}) {
    if (trace->skipped > 0) out += "\n" + markdown_code(escape(trace->path)) + ": " + escape(skipped_text(*trace)) + "\n";
  }
  return out;
}

}  // namespace relayout::cli
