#pragma once

#include <string>
#include <vector>

#include "relayout/verify.h"
#include "verify/inputs/port.h"

namespace relayout {

/// Differences between the declared inputs and outputs of two graphs, inputs first. A free dim that became fixed is a difference of an
/// input, but a remark of an output. A declaration that is only less exact is also a remark.
[[nodiscard]] std::vector<InterfaceDifference> compare_interfaces(const Graph& a, const Graph& b);

/// Whether b accepts a's inputs: apart from their order, all differences are remarks or adapted.
[[nodiscard]] bool inputs_fit(const std::vector<InterfaceDifference>& differences);
/// " ('image': rank is 3 [3, 8, 8], was 4 [1, 3, 8, 8])": the first input that prevents b from running.
[[nodiscard]] std::string misfits_of(const std::vector<InterfaceDifference>& differences);

}  // namespace relayout
