#pragma once

#include <string>

#include "relayout/verify.h"
#include "verify/pair.h"

namespace relayout {

/// Describes work of b in coarser numbers than a's that the options do not allow; empty: none. Sets Pair::narrow, quantized and grain (the
/// type whose rounding the bounds allow), and VerifyResult::lossy.
[[nodiscard]] std::string find_coarser(Pair& pair, VerifyResult& result);
/// Makes the verdict "different" if find_coarser() found unintended work.
void refuse_coarser(const Pair& pair, const std::string& coarser, VerifyResult& result);
/// States, for a difference that is a loss, its size and the option that accepts it.
void say_loss(const Pair& pair, VerifyResult& result);

}  // namespace relayout
