#pragma once

#include "relayout/verify.h"
#include "verify/session.h"

namespace relayout {

/// Compares two loaded models as verify() does, for callers that hold them in memory or run them by Sessions of their own (`open`). It
/// always runs them: `proof_only` is of files.
[[nodiscard]] VerifyResult compare_models(Side a, Side b, const VerifyOptions& options, OpenSession open = open_session);

}  // namespace relayout
