#pragma once

#include <optional>
#include <vector>

#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"

namespace relayout {

/// Compares two models node by node over one sample. Every node of b is fed a's values, so that a single wrong node appears as a single
/// difference. A node is judged by its local floor: the distance by which its value moves when the constants between the paired values of
/// a, and the values between them that have no partner, move by one ULP. Results are in the order of b's nodes, without values that have no
/// partner. `suspects`, if any, supplies the unexplained differences in each node's region (LayerProof::unexplained).
[[nodiscard]] std::vector<LayerResult> compare_layers(const LayerTask& task, const Suspects* suspects);

/// The same for only those layers in which `suspects` has a difference. Nodes of both models that these do not need are not run, which
/// costs a fraction. Nothing if one of the layers differs or cannot be compared: then the layers around it decide too.
[[nodiscard]] std::optional<std::vector<LayerResult>> compare_open_layers(const LayerTask& task, const Suspects& suspects);

/// The same for one model in another mode, without a decision about which is right: distance and floor of every node. Values inside a
/// fused step of that mode are not compared. The floor of such a step covers all its nodes. If it ends in a saturating function, its floor
/// is at least that of the function's operand.
[[nodiscard]] std::vector<LayerResult> compare_modes(const LayerTask& task, Mode mode);

}  // namespace relayout
