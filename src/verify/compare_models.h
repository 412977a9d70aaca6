#pragma once

#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/run/session.h"

namespace relayout {

/// Compares two loaded models as verify() does, for callers that hold them in memory or run them by Sessions of their own (`open`). It
/// always runs them: `proof_only` is of files. Tests ask the rules in other orders.
[[nodiscard]] VerifyResult compare_models(Side a, Side b, const VerifyOptions& options, OpenSession open = open_session,
                                          std::span<const Rule> rules = all_rules());

}  // namespace relayout
