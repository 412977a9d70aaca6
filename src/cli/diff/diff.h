// Declares what the files of this command share: chosen differences, what makes them fail, and the forms of its report.
#pragma once

// IWYU pragma: begin_exports
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/common/report.h"
#include "relayout/diff.h"
#include "relayout/estimate.h"
#include "relayout/model_diff.h"
#include "relayout/version.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// In the order of reports.
inline constexpr std::array kChangeKinds = {ChangeKind::changed, ChangeKind::removed, ChangeKind::added, ChangeKind::explained,
                                            ChangeKind::renamed};
inline constexpr std::array kChangeSubjects = {ChangeSubject::node,    ChangeSubject::initializer, ChangeSubject::input,
                                               ChangeSubject::output,  ChangeSubject::opset,       ChangeSubject::function,
                                               ChangeSubject::metadata};

/// Which changes of a model are reported.
struct ModelChoice {
  std::size_t top = 0;                     ///< lines per kind; 0: all
  std::vector<std::string> only, exclude;  ///< patterns of names
  std::vector<std::string> ignore;         ///< kinds and subjects of changes to ignore
};

/// Two models and the selected changes between them.
struct ModelPair {
  const ModelDiff* diff = nullptr;
  std::vector<const ModelChange*> changes;
  [[nodiscard]] int64_t count(ChangeKind kind) const;
  /// The first `most` changes of a kind (0: all).
  [[nodiscard]] std::vector<const ModelChange*> first_of(ChangeKind kind, std::size_t most) const;
  /// Nothing but names differs.
  [[nodiscard]] bool is_same() const;
};

/// Error{usage} when a pattern matches nothing.
[[nodiscard]] ModelPair choose_changes(const ModelDiff& diff, const ModelChoice& choice);
/// Reads "added,removed,changed,explained,renamed" of --fail-on; all but the last for --exit-code. Error{usage} for anything else.
[[nodiscard]] std::vector<ChangeKind> read_model_gate(const std::vector<std::string>& words, bool exit_code);
/// Error{usage} for a word of --ignore that is neither a kind nor a subject of a change.
void check_ignored(const std::vector<std::string>& words);
/// Names of changes that fail the gate.
[[nodiscard]] std::vector<std::string> model_failures(const ModelPair& pair, const std::vector<ChangeKind>& gate);
/// The name in the second model, or in the first where the second has none.
[[nodiscard]] std::string_view name_of(const ModelChange& change);

[[nodiscard]] std::string model_diff_text(const ModelPair& pair, const ModelChoice& choice, const ReportStyle& style);
[[nodiscard]] Json model_diff_json(const ModelPair& pair);
/// A line per change.
[[nodiscard]] std::string model_diff_csv(const std::vector<ModelPair>& pairs);
[[nodiscard]] std::string model_diff_markdown(const ModelPair& pair, const ModelChoice& choice);
[[nodiscard]] std::string model_diff_html(const std::vector<ModelPair>& pairs);
/// A case per kind that the gate names, and a case for the whole gate.
[[nodiscard]] JunitSuite model_diff_junit(const ModelPair& pair, const std::vector<ChangeKind>& gate);

// Words shared by the forms of the report.
/// "equal", "2 changed · 1 added · 37 explained (20 folded · 17 permuted)", and the number of equal nodes.
[[nodiscard]] std::string model_diff_summary(const ModelPair& pair);
/// '~', '+', '-', and '=' for changes that leave the function as it is.
[[nodiscard]] char sign_of(ChangeKind kind);

/// Count classes in the order of reports.
inline constexpr std::array kCountClasses = {CountClass::added, CountClass::removed, CountClass::increased, CountClass::decreased,
                                             CountClass::unchanged};

/// Which rows of a difference are shown.
struct TraceChoice {
  std::size_t top = 0;  ///< 0: all
  double least_us = 0;  ///< least time of the larger side
  std::vector<std::string> only, exclude;
};

/// The conditions under which --fail-on fails.
struct TraceGate {
  std::vector<CountClass> classes{};
  std::optional<double> slower{}, faster{};  ///< 0.05: fails beyond five percent
  bool strict = false;                       ///< --strict: undecided times fail too
};

/// The baseline and one other trace.
struct TracePair {
  const Trace* control = nullptr;
  const Trace* test = nullptr;
  std::vector<OperationDifference> rows;      ///< selected by the patterns and --min-us
  std::vector<OperationDifference> left_out;  ///< all others
};

/// Error{usage} when a pattern matches nothing.
[[nodiscard]] TracePair pair_traces(const Trace& control, const Trace& test, const TraceChoice& choice);
/// Names of operations that fail the gate.
[[nodiscard]] std::vector<std::string> trace_failures(const TracePair& pair, const TraceGate& gate);
/// Names of operations whose interval contains a limit of the gate.
[[nodiscard]] std::vector<std::string> undecided_times(const TracePair& pair, const TraceGate& gate);
/// Reads "added,removed,slower:5%" of --fail-on; all classes of counts for --exit-code. Error{usage} for anything else, and for --strict
/// without slower or faster.
[[nodiscard]] TraceGate read_trace_gate(const std::vector<std::string>& words, bool exit_code, bool strict);

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
