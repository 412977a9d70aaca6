#pragma once

#include <optional>
#include <string>

#include "relayout/verify.h"

namespace relayout {

/// Loss of an output over its samples; nothing where none was compared element by element.
[[nodiscard]] std::optional<Loss> loss_of(const OutputComparison& output);

/// "29.6 dB, top-1 100 %": of the output that lost most.
[[nodiscard]] std::string describe_loss(const VerifyResult& result);

/// Lets the bounds that were asked for decide what rounding does not explain: an output within them is accepted, one beyond them is
/// different, whatever its floor. What no number can excuse stays: other interfaces, dims, NaN and infinities in one of both alone.
void apply_acceptance(const Acceptance& accept, VerifyResult& result);

}  // namespace relayout
