#pragma once

#include <string>
#include <vector>

#include "cli/report.h"
#include "relayout/proof.h"
#include "relayout/verify.h"

namespace relayout::cli {

/// What follows from the files alone, or what does not; empty where nothing was proved or left open.
[[nodiscard]] std::string proof_text(const VerifyResult& result, const ReportStyle& style);
/// What is unexplained, but for differences of the interfaces, in the order in which people want to read it.
[[nodiscard]] std::vector<const Unexplained*> telling_first(const ProofResult& proof);

}  // namespace relayout::cli
