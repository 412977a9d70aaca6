// Bodies of model-local functions, and of operators that ONNX itself defines by other operators, as graphs with the attributes of the call
// filled in; at most 200 levels of calls.
#include "exec/function_bodies.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "model/functions.h"
#include "model/message_walk.h"
#include "ops/body.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout::exec {
namespace {

using GivenAttributes = std::unordered_map<std::string, const onnx::AttributeProto*>;

void fill_in(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const GivenAttributes& given);

void fill_in(onnx::NodeProto& node, const GivenAttributes& given) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> filled;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      const auto value = given.find(attribute.ref_attr_name());
      if (value == given.end()) continue;
      onnx::AttributeProto& copy = *filled.Add();
      copy = *value->second;
      copy.set_name(attribute.name());
      continue;
    }
    for_each_graph_in(attribute, [&](onnx::GraphProto& graph) { fill_in(*graph.mutable_node(), given); });
    filled.Add()->Swap(&attribute);
  }
  node.mutable_attribute()->Swap(&filled);
}

void fill_in(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const GivenAttributes& given) {
  for (onnx::NodeProto& node : nodes) fill_in(node, given);
}

}  // namespace

std::optional<FunctionDefinition> find_function(const Functions& functions, const Node& node) {
  const Graph* const graph = functions.called_by(node);
  if (graph == nullptr) return std::nullopt;
  const onnx::FunctionProto& function = *graph->function();
  return FunctionDefinition{&function, {function.attribute_proto().begin(), function.attribute_proto().end()}};
}

std::optional<FunctionDefinition> find_operator_body(const Node& node) {
  if (!node.domain().empty()) return std::nullopt;
  const auto opset = static_cast<int>(node.opset());
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  if (schema == nullptr || schema->deprecated() || !schema->HasFunction()) return std::nullopt;
  FunctionDefinition body{schema->GetFunction(opset), {}};
  if (body.message == nullptr) return std::nullopt;
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.default_value.name().empty()) continue;
    body.defaults.push_back(attribute.default_value);
  }
  return body;
}

FunctionInstance instantiate(const FunctionDefinition& body, const Node& call) {
  FunctionInstance instance;
  instance.message = std::make_unique<onnx::FunctionProto>(*body.message);
  GivenAttributes given;
  for (const onnx::AttributeProto& attribute : body.defaults) given[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& attribute : call.message().attribute()) given[attribute.name()] = &attribute;
  fill_in(*instance.message->mutable_node(), given);
  instance.graph = std::make_unique<Graph>(call.graph().model(), *instance.message);
  return instance;
}

void enter_call(int& level) {
  constexpr int kMostLevels = 200;
  if (++level > kMostLevels) fail(ErrorKind::unsupported, "functions call each other over more than 200 levels");
}

}  // namespace relayout::exec
