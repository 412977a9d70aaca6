#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/verify.h"
#include "verify/inputs/port.h"
#include "verify/session.h"

namespace relayout {

/// Differences between the declared inputs and outputs of two graphs, inputs first. A free dim that became fixed is a difference of an
/// input, but a remark of an output. A declaration that is only less exact is also a remark.
[[nodiscard]] std::vector<InterfaceDifference> compare_interfaces(const Graph& a, const Graph& b);

/// Whether a value contradicts its declaration in the file.
[[nodiscard]] bool contradicts(const Port& port, const Datum& value);

/// Makes remarks of differences in the declared dims of outputs where a's declaration is contradicted by what a computes, and b's is not:
/// exporters write scalars for values of any rank, and other tools repair that. `output_of_a`: a's output of this index in a sample.
void excuse_wrong_declarations(const Side& a, const Side& b, const std::function<Datum(std::size_t)>& output_of_a, VerifyResult& result);

/// Whether b accepts a's inputs: apart from their order, all differences are remarks or adapted.
[[nodiscard]] bool inputs_fit(const std::vector<InterfaceDifference>& differences);
/// " ('image': rank is 3 [3, 8, 8], was 4 [1, 3, 8, 8])": the first input that prevents b from running.
[[nodiscard]] std::string misfits_of(const std::vector<InterfaceDifference>& differences);

}  // namespace relayout
