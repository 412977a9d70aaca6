// Element type of a result that follows from the node alone: Cast, Constant, ConstantOfShape, indices, booleans, or the type of an input.

#include "ops/value_type.h"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <string>
#include <variant>

#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

DataType constant_type(const Node& node) {
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    if (!attribute.ref_attr_name().empty()) return DataType::undefined;
    const std::string& name = attribute.name();
    if (name == "value") return type_of_number(attribute.t().data_type());
    if (name == "sparse_value") return type_of_number(attribute.sparse_tensor().values().data_type());
    if (name == "value_float" || name == "value_floats") return DataType::float32;
    if (name == "value_int" || name == "value_ints") return DataType::int64;
    if (name == "value_string" || name == "value_strings") return DataType::string;
  }
  return DataType::undefined;
}

}  // namespace

std::variant<std::monostate, DataType, const Value*> type_rule(const Node& node, int output_index) {
  const Op* const known = find_op(node);
  if (known == nullptr) return {};
  const std::string& op = node.op_type();
  const auto like = [&](std::size_t index) -> std::variant<std::monostate, DataType, const Value*> {
    if (const Value* const value = node.input(index)) return value;
    return {};
  };
  if (output_index > 0) {
    if (op == "Split") return like(0);
    if (op == "TopK" || (op == "MaxPool" && output_index == 1)) return DataType::int64;
    return {};
  }
  if (op == "Cast") {
    const onnx::AttributeProto* const to = node.attribute("to");
    if (to != nullptr && to->ref_attr_name().empty() && to->has_i()) return type_of_number(to->i());
    return {};
  }
  if (op == "CastLike" || op == "Where" || op == "RMSNormalization") return like(1);
  if (op == "Constant") return constant_type(node);
  if (op == "ConstantOfShape") {
    const onnx::AttributeProto* const value = node.attribute("value");
    if (value == nullptr) return DataType::float32;
    return value->ref_attr_name().empty() ? type_of_number(value->t().data_type()) : DataType::undefined;
  }
  if (known->traits.has(Trait::makes_boolean)) return DataType::boolean;
  if (known->traits.has(Trait::makes_int64)) return DataType::int64;
  if (known->traits.has(Trait::same_type)) return like(0);
  return {};
}

}  // namespace relayout
