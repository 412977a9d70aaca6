#pragma once

#include <optional>
#include <string>

#include "relayout/verify.h"

namespace relayout {

/// Loss of an output over its samples; nullopt if no sample was compared element by element.
[[nodiscard]] std::optional<Loss> loss_of(const OutputComparison& output);

/// "29.6 dB, top-1 100 %": loss of the output with the lowest signal to noise; empty without one.
[[nodiscard]] std::string describe_loss(const VerifyResult& result);

/// Decides differences beyond rounding by the requested bounds: an output within them is accepted, an output beyond them is different,
/// whatever its floor. No bound excuses other interfaces, other dims, or NaN and infinities on one side alone.
void apply_acceptance(const Acceptance& accept, VerifyResult& result);

}  // namespace relayout
