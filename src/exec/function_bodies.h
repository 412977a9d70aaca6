#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "model/functions.h"
#include "ops/composed.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// Body of a call: a model-local function, or the body that ONNX gives for an operator; and values of attributes that the call may
/// leave out.
struct FunctionDefinition {
  const onnx::FunctionProto* message = nullptr;
  std::vector<onnx::AttributeProto> defaults;
};

/// The function that a node calls, or nothing.
[[nodiscard]] std::optional<FunctionDefinition> find_function(const Functions& functions, const Node& node);
/// ONNX's own body of a default-domain operator, where there is one that does not depend on types; or nothing.
[[nodiscard]] std::optional<FunctionDefinition> find_operator_body(const Node& node);

/// Attributes that the body takes from its caller are replaced (in nested graphs too), or dropped when the caller does not give them.
[[nodiscard]] FunctionInstance instantiate(const FunctionDefinition& body, const Node& call);

}  // namespace relayout::exec
