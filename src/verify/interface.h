#pragma once

#include <vector>

#include "relayout/verify.h"
#include "verify/inputs/port.h"

namespace relayout {

/// Differences between what two graphs declare of their inputs and outputs, inputs first. A free dim of an input that became fixed is
/// a difference; one of an output is a remark, and so is everything that makes a declaration only less exact.
[[nodiscard]] std::vector<InterfaceDifference> compare_interfaces(const Graph& a, const Graph& b);

/// Whether b can be given a's inputs: no difference among the inputs but their order, and such as were adapted.
[[nodiscard]] bool inputs_fit(const std::vector<InterfaceDifference>& differences);

}  // namespace relayout
