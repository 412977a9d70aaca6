#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "model/functions.h"
#include "ops/body.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// Body of a call: a model-local function, or ONNX's body of an operator. With values of attributes that the call may leave out.
struct FunctionDefinition {
  const onnx::FunctionProto* message = nullptr;
  std::vector<onnx::AttributeProto> defaults;
};

/// The function that a node calls, or nothing.
[[nodiscard]] std::optional<FunctionDefinition> find_function(const Functions& functions, const Node& node);
/// ONNX's own body of a default-domain operator, where there is one that does not depend on types; or nothing.
[[nodiscard]] std::optional<FunctionDefinition> find_operator_body(const Node& node);

/// A copy of the body. Attributes that it takes from its caller are replaced (in nested graphs too), or dropped where the call has none.
[[nodiscard]] FunctionInstance instantiate(const FunctionDefinition& body, const Node& call);

/// Counts one more level of calls within calls. Error{unsupported} beyond 200.
void enter_call(int& level);

}  // namespace relayout::exec
