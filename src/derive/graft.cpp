// Moves nodes and initializers of one model into another, under names that are free there.
#include "derive/graft.h"

#include "base/positions.h"
#include "base/text.h"
#include "derive/linearizer.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout::derive {
namespace {

/// Reads payloads that the file of a model holds into a message that is to leave it.
void hold_payload(const Model& from, onnx::TensorProto& tensor) {
  if (origin_of(from).elided_of(tensor) == nullptr && !is_external(tensor)) return;
  const TensorData data = tensor_data(from, tensor);
  std::string bytes(as_size(data.byte_size()), '\0');
  data.read_rows(0, data.dims().empty() ? 1 : data.dims().front(), std::as_writable_bytes(std::span(bytes)));
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(bytes));
}

void hold_payloads(const Model& from, onnx::GraphProto& graph);

void hold_payloads(const Model& from, onnx::NodeProto& node, bool is_nested) {
  for (auto& attribute : *node.mutable_attribute()) {
    // Those of Constants in the main graph need not be held.
    if (attribute.has_t() && (is_nested || node.op_type() != "Constant")) hold_payload(from, *attribute.mutable_t());
    for (auto& tensor : *attribute.mutable_tensors()) hold_payload(from, tensor);
    for_each_graph_in(attribute, [&](onnx::GraphProto& graph) { hold_payloads(from, graph); });
  }
}

void hold_payloads(const Model& from, onnx::GraphProto& graph) {
  for (auto& tensor : *graph.mutable_initializer()) hold_payload(from, tensor);
  if (graph.sparse_initializer_size() > 0) fail(ErrorKind::unsupported, "sparse initializers of nested graphs are not merged");
  for (auto& node : *graph.mutable_node()) hold_payloads(from, node, true);
}

}  // namespace

void hold_payloads(const Model& from, onnx::NodeProto& node) {
  hold_payloads(from, node, true);
}

std::optional<TensorData> constant_contents(const Model& from, const Node& node) {
  if (node.constant_data() != nullptr) return *node.constant_data();
  const onnx::AttributeProto* const value = node.is("Constant") ? node.attribute("value") : nullptr;
  if (value == nullptr || value->t().data_type() == onnx::TensorProto_DataType_STRING) return std::nullopt;
  return tensor_data(from, value->t());
}

void agree_on_opsets(Model& a, Model& b) {
  const int64_t newest = std::max(a.opset(""), b.opset(""));
  for (Model* model : {&a, &b}) raise_opset(*model, newest);
  for (const auto& import : b.message().opset_import()) {
    if (canonical_domain(import.domain()).empty()) continue;
    const int64_t here = a.opset(import.domain());
    if (here == import.version()) continue;
    if (here != 0) fail(ErrorKind::unsupported, "the models use two versions of domain " + quote(import.domain()));
    *a.message().add_opset_import() = import;
  }
  a.message().set_ir_version(std::max(a.ir_version(), b.ir_version()));
}

GraftedNames graft(Model& into, const Model& from, const std::string& prefix, Naming naming, GraftedNames bound) {
  Graph& graph = into.graph();
  const auto chosen = [&](const std::string& name) {
    if (naming == Naming::kept && into.unique_name(name) == name) return name;
    return into.unique_name(prefix + "/" + name);
  };
  const onnx::NodeProto call;
  const onnx::FunctionProto function;
  FunctionBody body(into, call, function, prefix);
  const auto add_name = [&](const Value* value) {
    if (value != nullptr && !bound.contains(value->name())) bound[value->name()] = chosen(value->name());
  };
  for (const Initializer& one : from.graph().initializers()) add_name(one.value);
  for (const Node& node : from.graph().nodes()) {
    for (const Value* output : node.outputs()) add_name(output);
  }
  for (const auto& [inner, outer] : bound) body.bind(inner, outer);
  for (const Initializer& one : from.graph().initializers()) {
    if (one.value->is_overridable())
      fail(ErrorKind::unsupported, "input " + quote(one.value->name()) + " has a default", "relayout convert --freeze");
    if (one.data == nullptr) fail(ErrorKind::unsupported, "initializer " + quote(one.value->name()) + " is sparse, or of strings");
    graph.add_initializer(bound.at(one.value->name()), *one.data);
  }
  for (const Node& node : from.graph().nodes()) {
    onnx::NodeProto message = node.whole_message();
    const std::optional<TensorData> contents = constant_contents(from, node);
    hold_payloads(from, message, false);
    message = body.node(message);
    if (!node.name().empty()) message.set_name(chosen(node.name()));
    Node& made = graph.insert_before(graph.nodes().end(), message);
    if (contents) graph.set_constant(made, *contents);
  }
  return bound;
}

}  // namespace relayout::derive
