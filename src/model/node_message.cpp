// Builds the protobuf messages of new nodes (operator, inputs, outputs), and sets integer attributes of messages.
#include "model/node_message.h"

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace relayout {
namespace {

/// The attribute of this name, which is added if it is absent.
onnx::AttributeProto& attribute_of(onnx::NodeProto& message, std::string_view name) {
  for (onnx::AttributeProto& attribute : *message.mutable_attribute()) {
    if (attribute.name() == name) return attribute;
  }
  onnx::AttributeProto& added = *message.add_attribute();
  added.set_name(std::string(name));
  return added;
}

}  // namespace

onnx::NodeProto node_message(std::string_view op_type, std::initializer_list<std::string_view> inputs,
                             std::initializer_list<std::string_view> outputs, std::string_view name) {
  onnx::NodeProto out;
  out.set_op_type(std::string(op_type));
  if (!name.empty()) out.set_name(std::string(name));
  for (const std::string_view input : inputs) out.add_input(std::string(input));
  for (const std::string_view output : outputs) out.add_output(std::string(output));
  return out;
}

void set_integer(onnx::NodeProto& message, std::string_view name, int64_t value) {
  onnx::AttributeProto& attribute = attribute_of(message, name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_integers(onnx::NodeProto& message, std::string_view name, std::span<const int64_t> values) {
  onnx::AttributeProto& attribute = attribute_of(message, name);
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(values.begin(), values.end());
}

}  // namespace relayout
