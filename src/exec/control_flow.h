#pragma once

#include <functional>
#include <vector>

#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// Runs a nested graph on its inputs; the caller supplies the captured values.
using RunGraph = std::function<std::vector<Datum>(const Graph& graph, std::vector<Datum> inputs)>;

/// The outputs of an If, Loop, Scan or SequenceMap. Absent inputs are null. Error{invalid} naming the node where operands do not fit.
[[nodiscard]] std::vector<Datum> run_control_flow(const OpCall& call, const std::vector<const Datum*>& inputs, const RunGraph& run);

}  // namespace relayout::exec
