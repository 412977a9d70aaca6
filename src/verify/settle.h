#pragma once

#include "verify/candidate.h"
#include "verify/floors.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Settles figures of a candidate that its first run leaves in doubt: ones that lie barely above their bound get firmer floors, and exact
/// outputs that differ by a choice between nearly equal numbers are explained. No Session may be open.
void settle(const Pair& pair, const Reference& reference, Floors& floors, Candidate& candidate);

}  // namespace relayout
