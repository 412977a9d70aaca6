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
  double least_us = 0;  ///< of the larger side
  std::vector<std::string> only, exclude;
};

/// The reason why a gate fails.
struct DiffGate {
  std::vector<CountClass> classes{};
  std::optional<double> slower{}, faster{};  ///< 0.05: by more than five percent
  bool strict = false;                       ///< what the intervals of times leave open fails too
};

/// The baseline against one other trace.
struct TracePair {
  const Trace* control = nullptr;
  const Trace* test = nullptr;
  std::vector<OperationDifference> rows;  ///< that the patterns and --min-us leave
  std::vector<OperationDifference> left_out;
};

/// Error{usage} when a pattern matches nothing.
[[nodiscard]] TracePair pair_traces(const Trace& control, const Trace& test, const DiffChoice& choice);
/// Names that the gate does not let pass.
[[nodiscard]] std::vector<std::string> failures(const TracePair& pair, const DiffGate& gate);
/// Names of which intervals hold a limit of the gate: neither beyond it nor on this side of it.
[[nodiscard]] std::vector<std::string> undecided(const TracePair& pair, const DiffGate& gate);
/// "added,removed,slower:5%". Error{usage}.
[[nodiscard]] DiffGate read_gate(const std::vector<std::string>& words);

[[nodiscard]] std::string diff_text(const TracePair& pair, const DiffChoice& choice, const ReportStyle& style);
[[nodiscard]] Json diff_json(const TracePair& pair, const DiffGate& gate);
/// A line per operation, units in the head.
[[nodiscard]] std::string diff_csv(const std::vector<TracePair>& pairs);
[[nodiscard]] std::string diff_markdown(const TracePair& pair, const DiffChoice& choice);
/// TraceDiff's two charts of each pair, counts and durations, the largest differences first, and all operations.
[[nodiscard]] std::string diff_html(const std::vector<TracePair>& pairs, const DiffGate& gate);
/// A case per class that the gate names, which fails with the operations that it does not let pass, and one of the whole.
[[nodiscard]] JunitSuite diff_junit(const TracePair& pair, const DiffGate& gate);

}  // namespace relayout::cli
