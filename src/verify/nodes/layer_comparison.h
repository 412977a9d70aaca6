#pragma once

#include <optional>
#include <vector>

#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/nodes/fed_runs.h"
#include "verify/nodes/suspects.h"

namespace relayout {

/// Compares two models node by node over one sample: every node of b is fed what a has in its place, so that one wrong node shows as
/// one. The yardstick of a node is its local floor: how far its value moves when the constants between the paired values of a move by
/// one ULP, and the values between them that have no partner, too.
/// In the order of b's nodes; what has no partner is not listed. `suspects`, if any, names the unexplained differences that each node's
/// region holds (LayerProof::unexplained).
[[nodiscard]] std::vector<LayerResult> compare_layers(const LayerTask& task, const Suspects* suspects);

/// The same for the layers alone that `suspects` names a difference of: the nodes of neither model run that have no part in them, which
/// costs a fraction. Nothing where one of them differs: then the layers around it decide too.
[[nodiscard]] std::optional<std::vector<LayerResult>> compare_open_layers(const LayerTask& task, const Suspects& suspects);

/// The same for one model in another mode, without a judgement of who is right: every node's distance and floor. Values inside a fused
/// step of that mode are not seen; the floor of the step is that of all its nodes, and never below the floor in front of a saturating end.
[[nodiscard]] std::vector<LayerResult> compare_modes(const LayerTask& task, Mode mode);

}  // namespace relayout
