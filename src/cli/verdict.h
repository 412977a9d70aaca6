#pragma once

#include <optional>

#include "cli/failure.h"
#include "relayout/verify.h"

namespace relayout::cli {

/// What standard error says of a verification, where the report on standard output is not enough: a defect, nodes that cannot run
/// (their number and the first three). Nothing for a plain verdict.
[[nodiscard]] std::optional<Failure> failure_of(const VerifyResult& result);
[[nodiscard]] std::optional<Failure> failure_of(const DataResult& result);

}  // namespace relayout::cli
