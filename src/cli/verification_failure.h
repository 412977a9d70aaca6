#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "relayout/execute.h"
#include "relayout/verify.h"

namespace relayout::cli {

/// Nodes that cannot run, by operator and reason in the order of the first: "'roi' (MaxUnpool: indices)" of one,
/// "com.microsoft.nchwc:Conv × 52 (unknown domain)" of several.
[[nodiscard]] std::vector<std::string> unsupported_groups(const std::vector<Unsupported>& nodes);

/// What standard error says of a verification, where the report on standard output is not enough: a defect, nodes that cannot run
/// (their number and the first three groups). Nothing for a plain verdict.
[[nodiscard]] std::optional<Failure> failure_of(const VerifyResult& result);
[[nodiscard]] std::optional<Failure> failure_of(const DataResult& result);

}  // namespace relayout::cli
