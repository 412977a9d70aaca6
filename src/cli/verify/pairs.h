#pragma once

// IWYU pragma: begin_exports
#include <optional>
#include <string>
#include <vector>

#include "cli/common/report.h"
#include "relayout/verify.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// One model of `verify --original PATTERN FILE…` and its outcome.
struct PairOutcome {
  std::string original, model;
  std::optional<VerifyResult> result;
  std::optional<Failure> failure;  ///< the message for standard error, always set without a result
};

/// The original of a model: `pattern` with {stem}, {stem%SUFFIX}, {name} and {dir} replaced, in the model's folder when it has no slash.
/// Error{usage} for a pattern that is invalid or denotes the model itself.
[[nodiscard]] std::string original_of(const std::string& pattern, const std::string& model);

[[nodiscard]] int exit_code(const PairOutcome& pair, bool allow_inconclusive);
/// The worst code of all pairs.
[[nodiscard]] int exit_code(const std::vector<PairOutcome>& pairs, bool allow_inconclusive);

/// A line per pair, followed by the report of verify for pairs that are not the same.
[[nodiscard]] std::string pairs_text(const std::vector<PairOutcome>& pairs, bool allow_inconclusive, const ReportStyle& style);
[[nodiscard]] Json pairs_json(const std::vector<PairOutcome>& pairs, bool allow_inconclusive);
[[nodiscard]] std::vector<JunitSuite> junit_suites(const std::vector<PairOutcome>& pairs, bool allow_inconclusive);

}  // namespace relayout::cli
