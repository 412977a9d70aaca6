#pragma once

#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Differences that show for equal numbers, NaN or infinities alone, none of which any sample has where they would: inconclusive. Operators
/// that may treat them apart are fed them; the attributes that say how they do are inconclusive wherever no sample shows them.
void judge_edges(const Pair& pair, const Reference& reference, VerifyResult& result);

}  // namespace relayout
