#pragma once

#include "relayout/verify.h"

namespace relayout {

/// Decides differences beyond rounding by the requested bounds: an output within them is accepted, an output beyond them is different,
/// whatever its floor. No bound excuses other interfaces, other dims, or NaN and infinities on one side alone.
void apply_acceptance(const Acceptance& accept, VerifyResult& result);

}  // namespace relayout
