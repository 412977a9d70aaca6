#pragma once

#include <filesystem>

#include "relayout/verify.h"

namespace relayout {

/// Runs nothing (VerifyOptions::proof_only): the verdict is `same` if the two files alone prove it, else `inconclusive`.
[[nodiscard]] VerifyResult verify_by_proof(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options);

/// Unexplained differences make the verdict `different`, whatever the samples show (VerifyOptions::strict).
void judge_strictly(VerifyResult& result);

}  // namespace relayout
