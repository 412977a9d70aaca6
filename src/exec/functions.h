#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ops/composed.h"
#include "relayout/graph.h"

namespace relayout {

/// What a call runs: a model-local function, or the body that ONNX gives for an operator; and values of attributes that the call may
/// leave out.
struct FunctionDefinition {
  const onnx::FunctionProto* message = nullptr;
  std::vector<onnx::AttributeProto> defaults;
};

/// The functions of a model, as loaded or synced.
class FunctionTable {
 public:
  explicit FunctionTable(const Model& model);
  /// The one that a node calls, or nothing.
  [[nodiscard]] std::optional<FunctionDefinition> find(const Node& node) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  ///< domain, name, overload
  std::map<Key, const onnx::FunctionProto*> functions_;
};
/// ONNX's own body of a default-domain operator, where there is one that does not depend on types; or nothing.
[[nodiscard]] std::optional<FunctionDefinition> find_operator_body(const Node& node);

/// Attributes that the body takes from its caller are replaced (in nested graphs too), or dropped when the caller does not give them.
[[nodiscard]] FunctionInstance instantiate(const FunctionDefinition& body, const Node& call);

}  // namespace relayout
