#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "relayout/diff.h"

namespace relayout::cli {

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

}  // namespace relayout::cli
