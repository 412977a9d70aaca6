#pragma once

#include <map>
#include <string>

#include "ops/bounds.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/pair.h"

namespace relayout {

/// Remarks on initializers that callers of a may replace, as they are also inputs, and callers of b may not. Before IR version 4, all are
/// inputs.
void note_lost_defaults(const Model& a, const Model& b, VerifyResult& result);

/// Remarks on nodes that draw random numbers, whose seeds are pinned.
void note_random_nodes(const Pair& pair, VerifyResult& result);

/// Remarks on inputs within the ranges of b's quantizers: such samples cannot show that a range is too small.
void note_held_inputs(const Pair& pair, const std::map<std::string, Bounds>& ranges, VerifyResult& result);

/// Remarks on elements that are NaN in both: they are equal and show nothing of b's computation.
[[nodiscard]] VerifyFindings find_nan_in_both(const VerifyResult& measured);

}  // namespace relayout
