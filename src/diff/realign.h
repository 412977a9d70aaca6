#pragma once

#include <optional>

#include "diff/matching.h"
#include "proof/claim.h"
#include "proof/sides.h"

namespace relayout {

/// Another reading of a claim about two values whose nodes, by the matching, do not stand for each other: one of them was not there or is
/// gone, and the claim goes on below it. Nothing where `found` is as good as it gets.
[[nodiscard]] std::optional<proof::Look> realign(proof::Sides& sides, const Matching& matching, const proof::Claim& claim,
                                                 const proof::Look& found);

}  // namespace relayout
