#pragma once

#include <optional>

#include "cli/failure.h"
#include "relayout/verify.h"

namespace relayout::cli {

/// The message on standard error for a verification: a defect, or nodes that cannot run (unsupported_text()). Nothing for a plain verdict,
/// where the report on standard output is enough.
[[nodiscard]] std::optional<Failure> failure_of(const VerifyResult& result);
[[nodiscard]] std::optional<Failure> failure_of(const DataResult& result);

}  // namespace relayout::cli
