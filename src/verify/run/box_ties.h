#pragma once

#include <vector>

#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "verify/run/ties.h"

namespace relayout {

/// Explains boxes that only one of two results of a NonMaxSuppression keeps.
[[nodiscard]] TieVerdict explain_boxes(const Node& node, const std::vector<DeciderOperand>& operands, const Tensor& reference,
                                       const Tensor& candidate);

}  // namespace relayout
