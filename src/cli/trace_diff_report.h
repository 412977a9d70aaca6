#pragma once

#include <string>
#include <vector>

#include "cli/report.h"
#include "cli/trace_diff_choice.h"
#include "relayout/diff.h"
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

// Words shared by the forms of the report.
/// "2 events without a possible time skipped: 'conv' took -2 µs (byte 1,234), …"
[[nodiscard]] std::string skipped_text(const Trace& trace);
/// "2 added · 1 removed · 30 unchanged; times: 3 faster": each operation has one class of counts, and with intervals one class of times.
[[nodiscard]] std::string trace_diff_summary(const TracePair& pair);
/// "removed", and nothing where both counts are equal.
[[nodiscard]] std::string count_change_text(const OperationDifference& row);
/// "faster", "slower", "same" or "inconclusive", and nothing without intervals.
[[nodiscard]] std::string time_change_text(const OperationDifference& row);
/// "removed", "increased, slower", "faster". "same" appears only where counts are equal.
[[nodiscard]] std::string change_text(const OperationDifference& row);

}  // namespace relayout::cli
