#pragma once

#include "relayout/verify.h"
#include "verify/floors.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Adds samples of smaller inputs in place of ill-conditioned ones, as long as these are well-conditioned.
void add_milder_samples(const Pair& pair, Reference& reference, Floors& floors, VerifyResult& result);

/// Makes outputs inconclusive that are ill-conditioned in every sample, unless their nodes or the proof vouch for them.
void doubt_ill_conditioned(bool vouched, VerifyResult& result);

}  // namespace relayout
