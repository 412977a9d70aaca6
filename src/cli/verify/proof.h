#pragma once

// IWYU pragma: begin_exports
#include <string>
#include <vector>

#include "cli/common/report.h"
#include "relayout/proof.h"
#include "relayout/verify.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// The conclusions from the files alone and the unexplained differences; empty where there are neither.
[[nodiscard]] std::string proof_text(const VerifyResult& result, const ReportStyle& style);
/// The unexplained differences, except those of the interfaces, the most telling first.
[[nodiscard]] std::vector<const Unexplained*> telling_first(const ProofResult& proof);

}  // namespace relayout::cli
