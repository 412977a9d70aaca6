#pragma once

#include "relayout/verify.h"
#include "verify/session.h"

namespace relayout {

/// verify() of two loaded models; `open` creates the Sessions that run them.
[[nodiscard]] VerifyResult compare_models(Side a, Side b, const VerifyOptions& options, OpenSession open = open_session);

}  // namespace relayout
