#pragma once

#include <string>
#include <vector>

#include "cli/model_diff_choice.h"
#include "cli/report.h"
#include "relayout/model_diff.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

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

}  // namespace relayout::cli
