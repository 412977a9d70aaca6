#pragma once

#include <optional>

#include "diff/matching.h"
#include "proof/claim.h"
#include "proof/sides.h"

namespace relayout {

/// Reinterprets a claim about two values whose nodes do not correspond to each other by the matching. One of the nodes was added or
/// removed, and the claim continues upstream of it. Empty if `found` cannot be improved.
[[nodiscard]] std::optional<proof::Look> realign(proof::Sides& sides, const Matching& matching, const proof::Claim& claim,
                                                 const proof::Look& found);

}  // namespace relayout
