#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "cli/report.h"
#include "relayout/verify.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {

/// One model of `verify --original PATTERN FILE…` and what became of it.
struct PairOutcome {
  std::string original, model;
  std::optional<VerifyResult> result;
  std::optional<Failure> failure;  ///< why there is no result
};

/// The original of a model: `pattern` with {stem}, {stem%SUFFIX}, {name} and {dir} replaced; beside the model when it has no slash.
/// Error{usage} for a pattern that makes no sense or that leads to the model itself.
[[nodiscard]] std::string original_of(const std::string& pattern, const std::string& model);

[[nodiscard]] int exit_code(const PairOutcome& pair, bool allow_inconclusive);
/// Of all pairs the worst.
[[nodiscard]] int exit_code(const std::vector<PairOutcome>& pairs, bool allow_inconclusive);

/// A line per pair; below those that are not the same, what verify says of one pair.
[[nodiscard]] std::string pairs_text(const std::vector<PairOutcome>& pairs, bool allow_inconclusive, const ReportStyle& style);
[[nodiscard]] Json pairs_json(const std::vector<PairOutcome>& pairs, bool allow_inconclusive);
[[nodiscard]] std::vector<JunitSuite> junit_suites(const std::vector<PairOutcome>& pairs, bool allow_inconclusive);

}  // namespace relayout::cli
