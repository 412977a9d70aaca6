#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// The types of values, for entries of inputs and outputs: kind, element type and rank of each, with the dims that do not depend on inputs.
/// They follow from operators and declared inputs, else from the value's own declaration, else from a run on generated inputs.
/// Error{unsupported} names a value whose type none of these tells.
[[nodiscard]] std::vector<onnx::TypeProto> port_types(const Graph& graph, const std::vector<const Value*>& values);

}  // namespace relayout
