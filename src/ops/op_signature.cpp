// Element types that an operator's operands and results may have in an opset, read from ONNX's schemas, and the first opset that allows a
// type.

#include "ops/op_signature.h"

#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// "tensor(float16)" → float16; undefined for other types.
DataType type_of(const std::string& text) {
  if (!text.starts_with("tensor(")) return DataType::undefined;
  const auto& proto = onnx::Utils::DataTypeUtils::ToTypeProto(onnx::Utils::DataTypeUtils::ToType(text));
  const DataTypeTraits* const known = find_traits(proto.tensor_type().elem_type());
  return known != nullptr ? known->type : DataType::undefined;
}

bool repeats(const std::vector<onnx::OpSchema::FormalParameter>& ports) {
  return !ports.empty() && ports.back().GetOption() == onnx::OpSchema::Variadic;
}

}  // namespace

const OpSignature* OpSignatures::find(const Node& node) {
  const int64_t opset = node.opset();
  if (!node.domain().empty() || opset <= 0 || opset > std::numeric_limits<int>::max()) return nullptr;
  const std::string key = node.op_type() + "/" + std::to_string(opset);
  if (const auto found = known_.find(key); found != known_.end()) return found->second.get();
  std::unique_ptr<OpSignature>& out = known_[key];
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), "");
  if (schema == nullptr) return nullptr;
  out = std::make_unique<OpSignature>();
  const auto& constraints = schema->typeConstraintParams();
  for (const auto& constraint : constraints) {
    TypeSet& allowed = out->allowed_.emplace_back();
    for (const std::string& text : constraint.allowed_type_strs) {
      if (const DataType type = type_of(text); type != DataType::undefined) allowed = allowed | TypeSet{type};
    }
  }
  const auto ports = [&](const std::vector<onnx::OpSchema::FormalParameter>& formals) {
    std::vector<OpSignature::Port> made;
    for (const auto& formal : formals) {
      OpSignature::Port port;
      const auto constraint = std::ranges::find(constraints, formal.GetTypeStr(), &onnx::OpSchema::TypeConstraintParam::type_param_str);
      const bool shared = formal.GetOption() != onnx::OpSchema::Variadic || formal.GetIsHomogeneous();
      if (constraint == constraints.end()) {
        port.fixed = type_of(formal.GetTypeStr());
      } else if (shared) {
        port.variable = static_cast<int>(constraint - constraints.begin());
      }
      made.push_back(port);
    }
    return made;
  };
  out->inputs_ = ports(schema->inputs());
  out->outputs_ = ports(schema->outputs());
  out->repeats_input_ = repeats(schema->inputs());
  out->repeats_output_ = repeats(schema->outputs());
  out->since_ = schema->SinceVersion();
  return out.get();
}

std::optional<int> OpSignatures::first_opset(const std::string& op_type, std::size_t index, DataType type) {
  std::optional<int> out;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op_type);
  for (; schema != nullptr; schema = onnx::OpSchemaRegistry::Schema(op_type, schema->SinceVersion() - 1, "")) {
    const auto& inputs = schema->inputs();
    if (inputs.empty()) return out;
    const auto& formal = inputs[std::min(index, inputs.size() - 1)];
    const auto& types = formal.GetTypes();
    const bool takes = std::ranges::any_of(types, [&](const onnx::DataType text) { return type_of(*text) == type; });
    if (!takes) return out;
    out = schema->SinceVersion();
  }
  return out;
}

}  // namespace relayout
