#pragma once

#include <string>

#include "relayout/verify.h"
#include "verify/pair.h"

namespace relayout {

/// Work of b in coarser numbers than a's and than is meant, as text; empty when there is none. Sets the type whose rounding the bounds
/// allow.
[[nodiscard]] std::string find_coarser(Pair& pair, VerifyResult& result);
/// Makes the verdict "different" where find_coarser() found something.
void refuse_coarser(const Pair& pair, const std::string& coarser, VerifyResult& result);
/// Of a difference that is a loss: how large it is, and how to take it.
void say_loss(const Pair& pair, VerifyResult& result);

}  // namespace relayout
