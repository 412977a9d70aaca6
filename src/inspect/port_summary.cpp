// Words of inputs and outputs in `inspect`: their types ("f32", "seq(f32)", "optional(f32)", "sparse(f32)", "map") and shapes ("[N, 3,
// ?]").
#include "inspect/port_summary.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

#include "base/text.h"
#include "relayout/graph.h"
#include "relayout/inspect.h"
#include "relayout/types.h"

namespace relayout {
namespace {

std::string port_type(const onnx::TypeProto& type) {
  const auto element = [](int32_t number) {
    const DataTypeTraits* known = find_traits(number);
    return known == nullptr ? std::string("?") : std::string(known->name);
  };
  if (type.has_tensor_type()) return element(type.tensor_type().elem_type());
  if (type.has_sparse_tensor_type()) return "sparse(" + element(type.sparse_tensor_type().elem_type()) + ")";
  if (type.has_sequence_type()) {
    const auto& inner = type.sequence_type().elem_type();
    return inner.has_tensor_type() ? "seq(" + element(inner.tensor_type().elem_type()) + ")" : "seq";
  }
  if (type.has_optional_type()) {
    const auto& inner = type.optional_type().elem_type();
    return inner.has_tensor_type() ? "optional(" + element(inner.tensor_type().elem_type()) + ")" : "optional";
  }
  return type.has_map_type() ? "map" : "?";
}

void add_shape(const onnx::TypeProto& type, PortSummary& port) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    port.shape += (port.shape.empty() ? "" : ", ");
    port.shape += dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : escape(dim.dim_param());
    port.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    port.symbols.push_back(dim.has_dim_value() ? std::string() : dim.dim_param());
  }
  port.shape = "[" + port.shape + "]";
}

}  // namespace

PortSummary port_summary(const Value& value) {
  PortSummary out{value.name(), "?", ""};
  if (value.info() != nullptr) {
    out.type = port_type(value.info()->type());
    add_shape(value.info()->type(), out);
  }
  return out;
}

}  // namespace relayout
