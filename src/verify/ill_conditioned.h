#pragma once

#include "relayout/verify.h"
#include "verify/floors.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Adds samples of smaller inputs in place of ill-conditioned ones, as long as these are well-conditioned.
void add_milder_samples(const Pair& pair, Reference& reference, Floors& floors, VerifyResult& result);

/// Makes outputs inconclusive that are ill-conditioned in every sample, unless their nodes or the proof vouch for them, or, in 16 bits,
/// `--accept` judges them.
void doubt_ill_conditioned(const Pair& pair, bool vouched, VerifyResult& result);
/// Makes outputs in 16 bits inconclusive, whatever their nodes vouch for, that are in every sample further off than the widest floor allows
/// that acquits by itself. `--accept` judges them instead.
void doubt_wide_floors(const Pair& pair, VerifyResult& result);

}  // namespace relayout
