// Rewrites the types of a model so that it computes in double precision.
#include "verify/double_form.h"

#include <onnx/onnx_pb.h>

#include "model/node.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr auto kDouble = static_cast<int>(DataType::float64);

bool is_below_double(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}

bool is_below_double(int64_t type) {
  return is_below_double(static_cast<DataType>(type));
}

/// A tensor of double with the same numbers.
onnx::TensorProto widened(const Model& model, const onnx::TensorProto& tensor) {
  const Tensor all = tensor_data(model, tensor).converted(DataType::float64).load();
  onnx::TensorProto out;
  out.set_data_type(kDouble);
  for (const int64_t dim : all.dims()) out.add_dims(dim);
  for (int64_t i = 0; i < all.element_count(); ++i) out.add_double_data(all.data<double>()[i]);
  return out;
}

void widen_attribute(Node& node, onnx::AttributeProto& attribute) {
  const std::string& name = attribute.name();
  const bool is_type = (name == "to" || name == "dtype") && attribute.has_i() && is_below_double(attribute.i());
  if (is_type) attribute.set_i(kDouble);
  if (attribute.has_t() && is_below_double(attribute.t().data_type()) && node.constant_data() == nullptr) {
    const onnx::TensorProto tensor = widened(node.graph().model(), attribute.t());
    *attribute.mutable_t() = tensor;
  }
  const bool is_number = node.is("Constant") && (name == "value_float" || name == "value_floats");
  if (!is_number) return;
  onnx::TensorProto tensor;
  tensor.set_data_type(kDouble);
  if (name == "value_floats") tensor.add_dims(attribute.floats_size());
  if (name == "value_float") tensor.add_double_data(double{attribute.f()});
  for (const float one : attribute.floats()) tensor.add_double_data(double{one});
  attribute.Clear();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto_AttributeType_TENSOR);
  *attribute.mutable_t() = tensor;
}

/// Statistics are f32 whatever the data are, unless an attribute says otherwise.
void widen_statistics(Node& node) {
  if (node.is("LayerNormalization") && node.outputs().size() > 1) set_integer(node.graph().edit(node), "stash_type", kDouble);
}

/// Operands that are f32 whatever the data are.
void keep_scales(Node& node) {
  if (!node.is("Resize") && !node.is("Upsample")) return;
  Graph& graph = node.graph();
  const std::size_t index = node.is("Resize") ? 2 : 1;
  Value* const scales = node.input(index);
  if (scales == nullptr) return;
  onnx::NodeProto cast = node_message("Cast", {scales->name()}, {graph.model().unique_name(scales->name() + ".f32")});
  set_integer(cast, "to", static_cast<int64_t>(DataType::float32));
  Node& made = graph.insert_before(graph.position_of(node), cast);
  graph.set_input(node, index, made.output(0));
}

void widen_declarations(Graph& graph) {
  graph.edit_declarations([](onnx::ValueInfoProto& entry) {
    if (!entry.type().has_tensor_type() || !is_below_double(entry.type().tensor_type().elem_type())) return false;
    entry.mutable_type()->mutable_tensor_type()->set_elem_type(kDouble);
    return true;
  });
}

}  // namespace

void compute_in_double(Model& model) {
  for_each_graph(model.graph(), [&](Graph& graph) {
    for (Initializer& one : graph.initializers()) {
      if (one.data != nullptr && is_below_double(one.data->type())) graph.set_data(one, one.data->converted(DataType::float64));
    }
    std::vector<Node*> nodes;
    for (Node& node : graph.nodes()) nodes.push_back(&node);
    for (Node* node : nodes) {
      if (const TensorData* const data = node->constant_data(); data != nullptr && is_below_double(data->type())) {
        graph.set_constant(*node, data->converted(DataType::float64));
      }
      bool has_numbers = false;
      for (const auto& attribute : node->message().attribute()) {
        const bool is_type = attribute.has_i() && (attribute.name() == "to" || attribute.name() == "dtype");
        has_numbers = has_numbers || attribute.has_t() || is_type || attribute.name().starts_with("value_float");
      }
      if (has_numbers) {
        for (auto& attribute : *graph.edit(*node).mutable_attribute()) widen_attribute(*node, attribute);
      }
      widen_statistics(*node);
      keep_scales(*node);
    }
    widen_declarations(graph);
  });
}

}  // namespace relayout
