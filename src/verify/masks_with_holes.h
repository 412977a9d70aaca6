#pragma once

#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/floors.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Fused attentions expect masks as tokenizers write them. Different results for masks with holes are worth a remark.
void note_masks_with_holes(const Pair& pair, const InputMaker& inputs, const Reference& reference, const Floors& floors,
                           const Candidate& candidate, VerifyResult& result);

}  // namespace relayout
