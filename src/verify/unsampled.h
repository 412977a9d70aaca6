#pragma once

#include <string>

#include "relayout/verify.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// A reason why a node of one model alone, or a changed one, may have an effect that no sample shows, in one printable line; empty: none.
/// The reasons: a Slice that takes a part only at other sizes than the samples'; a limit of sizes that only others reach; a condition that
/// depends on other sizes or on data; a difference about sizes where all samples have one size; a changed comparison of numbers that are
/// never equal; an attribute that affects only some numbers; an input with contents in the file that one model alone reads.
[[nodiscard]] std::string find_unsampled(const Pair& pair, const Reference& reference, EnteredGraphs& entered, const VerifyResult& result);

}  // namespace relayout
