// Reads the declarations of a graph's inputs and outputs, and words them.
#include "verify/inputs/port.h"

#include <onnx/onnx_pb.h>

#include "base/text.h"
#include "layout/sizes.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Types may nest: a model's depth limit bounds the message, this one the recursion.
constexpr int kMaxTypeLevels = 16;

void add_dim(Port& port, const onnx::TensorShapeProto::Dimension& dim) {
  const bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
  port.dims.push_back(fixed ? dim.dim_value() : -1);
  port.symbols.push_back(fixed ? std::string() : dim.dim_param());
}

Port port_of(const std::string& name, const onnx::TypeProto& type, int level) {
  Port port;
  port.name = name;
  if (type.has_sequence_type() || type.has_optional_type()) {
    port.kind = type.has_sequence_type() ? Datum::Kind::sequence : Datum::Kind::optional;
    const onnx::TypeProto& element = type.has_sequence_type() ? type.sequence_type().elem_type() : type.optional_type().elem_type();
    port.element.push_back(level < kMaxTypeLevels ? port_of(name, element, level + 1) : Port{});
    port.type = port.element.front().type;
    return port;
  }
  if (type.has_map_type()) {
    port.kind = Datum::Kind::map;
    const DataTypeTraits* const key = find_traits(type.map_type().key_type());
    port.element.resize(2);
    for (Port& part : port.element) part.name = name;
    if (key != nullptr) port.element.front().type = key->type;
    port.type = level < kMaxTypeLevels ? port_of(name, type.map_type().value_type(), level + 1).type : DataType::undefined;
    port.element.back().type = port.type;
    port.element.back().has_shape = true;  // each value is a scalar
    return port;
  }
  if (!type.has_tensor_type()) return port;
  const DataTypeTraits* const known = find_traits(type.tensor_type().elem_type());
  if (known != nullptr) port.type = known->type;
  port.has_shape = type.tensor_type().has_shape();
  for (const auto& dim : type.tensor_type().shape().dim()) add_dim(port, dim);
  return port;
}

Port port_of(const Value& value) {
  if (value.info() == nullptr) {
    Port port;
    port.name = value.name();
    return port;
  }
  return port_of(value.name(), value.info()->type(), 0);
}

}  // namespace

std::string Port::key(std::size_t axis) const {
  return layout::is_unknown_dim(symbols[axis]) ? name + "[" + std::to_string(axis) + "]" : symbols[axis];
}

std::vector<Port> required_inputs(const Graph& graph) {
  std::vector<Port> ports;
  for (const Value* const value : graph.inputs()) {
    if (value->initializer() == nullptr) ports.push_back(port_of(*value));
  }
  return ports;
}

std::vector<std::string> defaulted_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* const value : graph.inputs()) {
    if (value->initializer() != nullptr) names.push_back(value->name());
  }
  return names;
}

std::vector<Port> output_ports(const Graph& graph) {
  std::vector<Port> ports;
  for (const Value* const value : graph.outputs()) ports.push_back(port_of(*value));
  return ports;
}

std::string shape_text(const Port& port) {
  if (port.kind != Datum::Kind::tensor || !port.has_shape) return {};
  std::string out = "[";
  for (std::size_t i = 0; i < port.dims.size(); ++i) {
    if (i > 0) out += ", ";
    if (port.dims[i] >= 0) {
      out += std::to_string(port.dims[i]);
    } else {
      out += port.symbols[i].empty() ? "?" : escape(port.symbols[i]);
    }
  }
  return out + "]";
}

std::string type_text(const Port& port) {
  if (port.kind == Datum::Kind::sequence) return "seq(" + type_text(port.element.front()) + ")";
  if (port.kind == Datum::Kind::optional) return "optional(" + type_text(port.element.front()) + ")";
  if (port.kind == Datum::Kind::map) return "map(" + type_text(port.element.front()) + ", " + type_text(port.element.back()) + ")";
  return std::string(port.type == DataType::undefined ? "undeclared" : name_of(port.type)) + shape_text(port);
}

}  // namespace relayout
