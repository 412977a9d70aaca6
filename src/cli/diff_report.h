#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/report.h"
#include "relayout/diff.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

/// Which rows of a difference are shown.
struct DiffChoice {
  std::size_t top = 0;  ///< 0: all
  double least_us = 0;  ///< least time of the larger side
  std::vector<std::string> only, exclude;
};

/// The conditions under which --fail-on fails.
struct DiffGate {
  std::vector<CountClass> classes{};
  std::optional<double> slower{}, faster{};  ///< 0.05: fails beyond five percent
  bool strict = false;                       ///< undecided times fail too
};

/// The baseline and one other trace.
struct TracePair {
  const Trace* control = nullptr;
  const Trace* test = nullptr;
  std::vector<OperationDifference> rows;      ///< selected by the patterns and --min-us
  std::vector<OperationDifference> left_out;  ///< all others
};

/// Error{usage} when a pattern matches nothing.
[[nodiscard]] TracePair pair_traces(const Trace& control, const Trace& test, const DiffChoice& choice);
/// Names of operations that fail the gate.
[[nodiscard]] std::vector<std::string> failures(const TracePair& pair, const DiffGate& gate);
/// Names of operations whose interval contains a limit of the gate.
[[nodiscard]] std::vector<std::string> undecided(const TracePair& pair, const DiffGate& gate);
/// Reads "added,removed,slower:5%". Error{usage} for anything else.
[[nodiscard]] DiffGate read_gate(const std::vector<std::string>& words);

[[nodiscard]] std::string diff_text(const TracePair& pair, const DiffChoice& choice, const ReportStyle& style);
[[nodiscard]] Json diff_json(const TracePair& pair, const DiffGate& gate);
/// A line per operation, with units in the header.
[[nodiscard]] std::string diff_csv(const std::vector<TracePair>& pairs);
[[nodiscard]] std::string diff_markdown(const TracePair& pair, const DiffChoice& choice);
/// TraceDiff's two charts of each pair, counts and durations, with the largest differences first, and the data of all operations.
[[nodiscard]] std::string diff_html(const std::vector<TracePair>& pairs, const DiffGate& gate);
/// A case per class that the gate names, which lists the failing operations, and a case for the whole gate.
[[nodiscard]] JunitSuite diff_junit(const TracePair& pair, const DiffGate& gate);

}  // namespace relayout::cli
