#pragma once

#include <string>
#include <vector>

#include "cli/report.h"
#include "cli/trace_diff_choice.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

[[nodiscard]] std::string trace_diff_text(const TracePair& pair, const TraceChoice& choice, const ReportStyle& style);
[[nodiscard]] Json trace_diff_json(const TracePair& pair, const TraceGate& gate);
/// A line per operation, with units in the header.
[[nodiscard]] std::string trace_diff_csv(const std::vector<TracePair>& pairs);
[[nodiscard]] std::string trace_diff_markdown(const TracePair& pair, const TraceChoice& choice);
/// TraceDiff's two charts of each pair, counts and durations, with the largest differences first, and the data of all operations.
[[nodiscard]] std::string trace_diff_html(const std::vector<TracePair>& pairs, const TraceGate& gate);
/// A case per class that the gate names, which lists the failing operations, and a case for the whole gate.
[[nodiscard]] JunitSuite trace_diff_junit(const TracePair& pair, const TraceGate& gate);

}  // namespace relayout::cli
