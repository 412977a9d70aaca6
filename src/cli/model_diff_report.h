#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/report.h"
#include "relayout/model_diff.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

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
};

/// Error{usage} when a pattern matches nothing.
[[nodiscard]] ModelPair choose_changes(const ModelDiff& diff, const ModelChoice& choice);
/// Reads "added,removed,changed,explained,renamed". Error{usage} for anything else.
[[nodiscard]] std::vector<ChangeKind> read_model_gate(const std::vector<std::string>& words);
/// Error{usage} for a word of --ignore that is neither a kind nor a subject of a change.
void check_ignored(const std::vector<std::string>& words);
/// Names of changes that fail the gate.
[[nodiscard]] std::vector<std::string> model_failures(const ModelPair& pair, const std::vector<ChangeKind>& gate);

[[nodiscard]] std::string model_diff_text(const ModelPair& pair, const ModelChoice& choice, const ReportStyle& style);
[[nodiscard]] Json model_diff_json(const ModelPair& pair);
/// A line per change.
[[nodiscard]] std::string model_diff_csv(const std::vector<ModelPair>& pairs);
[[nodiscard]] std::string model_diff_markdown(const ModelPair& pair, const ModelChoice& choice);
[[nodiscard]] std::string model_diff_html(const std::vector<ModelPair>& pairs);
/// A case per kind that the gate names, and a case for the whole gate.
[[nodiscard]] JunitSuite model_diff_junit(const ModelPair& pair, const std::vector<ChangeKind>& gate);

}  // namespace relayout::cli
