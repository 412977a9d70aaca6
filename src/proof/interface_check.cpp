// Compares inputs and outputs of two models as their callers see them, who must be able to call the second like the first.

#include "proof/interface_check.h"

#include <onnx/onnx_pb.h>

#include <deque>
#include <unordered_set>

#include "base/text.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

struct Port {
  std::string_view side;  ///< "input" or "output"
  const Value* value = nullptr;
  const onnx::ValueInfoProto* info = nullptr;
};

std::vector<Port> inputs_of(const Model& model) {
  std::vector<Port> out;
  for (const Value* value : callers_inputs(model)) out.push_back({"input", value, value->info()});
  return out;
}

std::vector<Port> outputs_of(const Model& model) {
  std::vector<Port> out;
  const auto& values = model.graph().outputs();
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.push_back({"output", values[i], &model.message().graph().output(static_cast<int>(i))});
  }
  return out;
}

/// Of an output, the second model may tell more: a size, or a name where there was none.
bool same_dim(const Port& port, const onnx::TensorShapeProto::Dimension& a, const onnx::TensorShapeProto::Dimension& b) {
  const bool may_tell_more = port.side == "output" && !a.has_dim_value() && (b.has_dim_value() || a.dim_param().empty());
  if (may_tell_more || a.has_dim_value() != b.has_dim_value()) return may_tell_more;
  return a.has_dim_value() ? a.dim_value() == b.dim_value() : a.dim_param() == b.dim_param();
}

/// The element type; across types, that of a number of 16 bits is float32.
int32_t element_type(const onnx::TypeProto::Tensor& tensor, bool across_types) {
  const int32_t type = tensor.elem_type();
  const bool is_narrow = type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
  return across_types && is_narrow ? static_cast<int32_t>(onnx::TensorProto::FLOAT) : type;
}

bool same_type(const Port& a, const Port& b, bool across_types) {
  if (a.info == nullptr || b.info == nullptr) return a.info == b.info;
  const auto& of_a = a.info->type();
  const auto& of_b = b.info->type();
  if (!of_a.has_tensor_type() || !of_b.has_tensor_type()) return of_a.SerializeAsString() == of_b.SerializeAsString();
  const auto& tensor_a = of_a.tensor_type();
  const auto& tensor_b = of_b.tensor_type();
  if (element_type(tensor_a, across_types) != element_type(tensor_b, across_types)) return false;
  if (tensor_a.has_shape() != tensor_b.has_shape()) return a.side == "output" && tensor_b.has_shape();
  return std::ranges::equal(tensor_a.shape().dim(), tensor_b.shape().dim(),
                            [&](const auto& dim_a, const auto& dim_b) { return same_dim(a, dim_a, dim_b); });
}

void compare_ports(const std::vector<Port>& a, const std::vector<Port>& b, bool across_types, std::vector<Unexplained>& out) {
  // An output may be listed several times. The occurrences of a name are paired in order.
  std::unordered_map<std::string_view, std::deque<std::size_t>> places;
  for (std::size_t i = 0; i < b.size(); ++i) places[b[i].value->name()].push_back(i);
  std::vector<char> met(b.size(), 0);
  const auto note = [&](const Port& port, const std::string& what, bool in_first) {
    const std::string& name = port.value->name();
    out.push_back({Unexplained::Kind::interface, name, std::string(port.side) + " " + quote(name) + " " + what, 0, 0, in_first});
  };
  std::size_t last = 0;
  bool in_order = true;
  for (const Port& port : a) {
    const auto found = places.find(port.value->name());
    if (found == places.end() || found->second.empty()) {
      if (port.side == "output" || !port.value->is_overridable()) note(port, "is missing", true);
      continue;
    }
    const std::size_t place = found->second.front();
    found->second.pop_front();
    met[place] = 1;
    in_order = in_order && place >= last;
    last = place;
    const Port& other = b[place];
    if (!same_type(port, other, across_types)) note(other, "is " + declared_text(other.info) + ", was " + declared_text(port.info), false);
    if (port.value->is_overridable() != other.value->is_overridable()) {
      note(other, other.value->is_overridable() ? "now has a default" : "has lost its default", false);
    }
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (met[i] == 0) note(b[i], "was not there", false);
  }
  if (!in_order) note(b[last], "is at another place among the " + std::string(b[last].side) + "s", false);
}

}  // namespace

std::vector<const Value*> callers_inputs(const Model& model) {
  std::vector<const Value*> out;
  for (const Value* value : model.graph().inputs()) {
    if (value->initializer() == nullptr || value->is_overridable()) out.push_back(value);
  }
  return out;
}

std::vector<const Value*> frozen_inputs(const Model& a, const Model& b) {
  std::unordered_set<std::string_view> names;
  for (const Value* value : b.graph().inputs()) names.insert(value->name());
  std::vector<const Value*> out;
  for (const Value* value : a.graph().inputs()) {
    if (value->is_overridable() && !names.contains(value->name())) out.push_back(value);
  }
  return out;
}

std::vector<Unexplained> compare_interfaces(const Model& a, const Model& b, bool across_types) {
  std::vector<Unexplained> out;
  compare_ports(inputs_of(a), inputs_of(b), across_types, out);
  compare_ports(outputs_of(a), outputs_of(b), across_types, out);
  return out;
}

}  // namespace relayout::proof
