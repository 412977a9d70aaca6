// Element types of all values of a graph: from declarations, initializers, attributes such as `dtype`, bodies of Loop, Scan and If, and the
// type variables of ONNX's schemas.

#include "ops/element_types.h"

#include <onnx/onnx_pb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/positions.h"
#include "model/attributes.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/op_signature.h"
#include "ops/value_type.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

DataType stored_type(const Initializer& initializer) {
  if (initializer.data) return initializer.data->type();
  if (initializer.message != nullptr) return type_of_number(initializer.message->data_type());
  return initializer.sparse != nullptr ? type_of_number(initializer.sparse->values().data_type()) : DataType::undefined;
}

}  // namespace

DataType declared_type(const Value& value) {
  if (const Initializer* const initializer = value.initializer()) return stored_type(*initializer);
  const auto declared = value.declared();
  return declared ? declared->type : DataType::undefined;
}

DataType ElementTypes::of(const Value& value) const {
  const auto found = types_.find(&value);
  return found != types_.end() ? found->second : DataType::undefined;
}

void ElementTypes::visit(const Graph& graph) {
  const auto add_sources = [&](const Graph& entered) {
    for (const Value* const input : entered.inputs()) types_.emplace(input, declared_type(*input));
    for (const Initializer& initializer : entered.initializers()) types_[initializer.value] = stored_type(initializer);
  };
  const auto add_outputs = [&](const Node& node) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* const value = node.output(i);
      if (value == nullptr) continue;
      const DataType type = output_type(node, static_cast<int>(i));
      types_[value] = type != DataType::undefined ? type : declared_type(*value);
    }
  };
  for_each_node<Nested::before>(graph, add_outputs, add_sources);
}

DataType ElementTypes::output_type(const Node& node, int index) {
  if (!node.domain().empty()) return DataType::undefined;
  if (!node.subgraphs().empty()) {
    // The body of a Loop produces a condition first; outputs of Scan and If are those of their bodies.
    const auto& made = node.subgraphs().front()->outputs();
    const std::size_t place = as_size(index) + (node.is("Loop") ? 1 : 0);
    return place < made.size() ? of(*made[place]) : DataType::undefined;
  }
  if (const OpSignature* const signature = signatures_.find(node)) {
    // A sequence or an optional is not a tensor of its element type.
    const int variable = signature->output(as_size(index)).variable;
    if (variable >= 0 && signature->allowed(variable).empty()) return DataType::undefined;
  }
  const auto rule = type_rule(node, index);
  if (const auto* const own = std::get_if<DataType>(&rule)) return *own;
  if (const auto* const like = std::get_if<const Value*>(&rule)) return of(**like);
  return by_signature(node, index);
}

DataType ElementTypes::by_signature(const Node& node, int index) {
  const OpSignature* const signature = signatures_.find(node);
  if (signature == nullptr) return DataType::undefined;
  const OpSignature::Port port = signature->output(as_size(index));
  if (port.variable < 0) return port.fixed;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && signature->input(i).variable == port.variable) return of(*node.input(i));
  }
  // The type is named by an attribute, or follows from its absence.
  const Attributes attributes(node);
  constexpr auto kNames = std::to_array<const char*>({"dtype", "output_datatype", "output_dtype", "stash_type"});
  for (const char* const name : kNames) {
    const DataType type = attributes.has_reference() ? DataType::undefined : type_of_number(attributes.integer(name, 0));
    if (type != DataType::undefined) return type;
  }
  const TypeSet allowed = signature->allowed(port.variable);
  const bool is_statistic = index > 0 && allowed.has(DataType::float32);
  const DataType like = node.input(0) != nullptr && !is_statistic ? of(*node.input(0)) : DataType::undefined;
  if (allowed.has(like)) return like;
  return allowed.has(DataType::float32) ? DataType::float32 : DataType::undefined;
}

}  // namespace relayout
