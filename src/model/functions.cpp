// Finds the model-local function that a node calls, and copies its nodes for inlining.
#include "model/functions.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include "model/node.h"
#include "model/wire.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

Key key_of(const onnx::FunctionProto& function) {
  return {canonical_domain(function.domain()), function.name(), function.overload()};
}

Key key_of(const Node& node) {
  return {node.domain(), node.op_type(), node.message().overload()};
}

}  // namespace

bool calls(const Node& node, const onnx::FunctionProto& function) {
  return key_of(node) == key_of(function);
}

Functions::Functions(const Model& model) {
  for (const std::unique_ptr<Graph>& function : model.functions()) functions_.emplace(key_of(*function->function()), function.get());
}

const Graph* Functions::called_by(const Node& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(key_of(node));
  return found != functions_.end() ? found->second : nullptr;
}

const Graph* Functions::like(const onnx::FunctionProto& function) const {
  const auto found = functions_.find(key_of(function));
  return found != functions_.end() ? found->second : nullptr;
}

const Value* receiver_of(const Node& node, std::size_t index, const Functions& functions) {
  constexpr std::size_t kFirstState = 2;  // of a Loop, after its trip count and condition
  const bool has_body = (node.is("Scan") || (node.is("Loop") && index >= kFirstState)) && !node.subgraphs().empty();
  const Graph* const inner = has_body ? node.subgraphs().front().get() : functions.called_by(node);
  return inner != nullptr && index < inner->inputs().size() ? inner->inputs()[index] : nullptr;
}

// Copies of a function's nodes for one call.
namespace {

/// Removes the marker of the walk's record: saving would copy the recorded bytes of the file instead of this changed copy.
void forget_record(google::protobuf::Message& message) {
  auto& unknown = *message.GetReflection()->MutableUnknownFields(&message);
  if (!unknown.empty()) unknown.DeleteByNumber(wire::kMarkerField);
}

void forget_records(onnx::NodeProto& node);

void forget_records(onnx::GraphProto& graph) {
  forget_record(graph);
  for (auto& node : *graph.mutable_node()) forget_records(node);
  for (auto& tensor : *graph.mutable_initializer()) forget_record(tensor);
  for (auto& sparse : *graph.mutable_sparse_initializer()) forget_record(sparse);
}

void forget_records(onnx::NodeProto& node) {
  forget_record(node);
  for (auto& attribute : *node.mutable_attribute()) {
    forget_record(attribute);
    if (attribute.has_t()) forget_record(*attribute.mutable_t());
    if (attribute.has_sparse_tensor()) forget_record(*attribute.mutable_sparse_tensor());
    for (auto& tensor : *attribute.mutable_tensors()) forget_record(tensor);
    for_each_graph_in(attribute, [](onnx::GraphProto& graph) { forget_records(graph); });
  }
}

}  // namespace

std::string FunctionBody::unique(const std::string& inner) {
  return model_.unique_name(prefix_.empty() ? inner : prefix_ + "/" + inner);
}

const std::string& FunctionBody::name_of(const std::string& inner) {
  const auto known = names_.find(inner);
  return known != names_.end() ? known->second : names_.emplace(inner, unique(inner)).first->second;
}

onnx::NodeProto FunctionBody::node(const onnx::NodeProto& inner) {
  onnx::NodeProto out = inner;
  forget_records(out);
  resolve(out);
  rename(out);
  return out;
}

const onnx::AttributeProto* FunctionBody::given(const std::string& reference) const {
  for (const auto& attribute : call_.attribute()) {
    if (attribute.name() == reference) return &attribute;
  }
  for (const auto& attribute : function_.attribute_proto()) {
    if (attribute.name() == reference) return &attribute;
  }
  return nullptr;
}

void FunctionBody::resolve(onnx::NodeProto& node) const {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size(); i-- > 0;) {
    onnx::AttributeProto& attribute = attributes[i];
    for_each_graph_in(attribute, [&](onnx::GraphProto& graph) {
      for (auto& nested : *graph.mutable_node()) resolve(nested);
    });
    if (attribute.ref_attr_name().empty()) continue;
    const std::string name = attribute.name();
    if (const onnx::AttributeProto* const value = given(attribute.ref_attr_name())) {
      attribute = *value;
      attribute.set_name(name);
      forget_record(attribute);
      if (attribute.has_t()) forget_record(*attribute.mutable_t());
    } else {
      attributes.DeleteSubrange(i, 1);
    }
  }
}

void FunctionBody::rename(onnx::NodeProto& node) {
  if (!node.name().empty() && !prefix_.empty()) node.set_name(unique(node.name()));
  for (auto* const list : {node.mutable_input(), node.mutable_output()}) {
    for (std::string& name : *list) {
      if (!name.empty()) name = name_of(name);
    }
  }
  for (auto& attribute : *node.mutable_attribute()) {
    for_each_graph_in(attribute, [&](onnx::GraphProto& graph) { rename(graph); });
  }
}

/// Names in a function's nested graphs are unique in the function, so that one table serves all.
void FunctionBody::rename(onnx::GraphProto& graph) {
  const auto each = [&](auto& entries) {
    for (auto& entry : entries) entry.set_name(name_of(entry.name()));
  };
  each(*graph.mutable_input());
  each(*graph.mutable_initializer());
  for (auto& sparse : *graph.mutable_sparse_initializer()) sparse.mutable_values()->set_name(name_of(sparse.values().name()));
  each(*graph.mutable_output());
  each(*graph.mutable_value_info());
  for (auto& annotation : *graph.mutable_quantization_annotation()) {
    annotation.set_tensor_name(name_of(annotation.tensor_name()));
    for (auto& entry : *annotation.mutable_quant_parameter_tensor_names()) entry.set_value(name_of(entry.value()));
  }
  for (auto& node : *graph.mutable_node()) rename(node);
}

}  // namespace relayout
