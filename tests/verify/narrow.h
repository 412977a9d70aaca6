#pragma once

#include <set>
#include <string>

#include "base/half.h"
#include "support/network.h"

namespace relayout::testing {

/// The network with all its f32 tensors, Casts, inputs and outputs in f16 or bf16.
inline test::Network narrowed(test::Network network, int type) {
  const auto narrow = [type](float value) {
    return type == onnx::TensorProto::FLOAT16 ? double_to_half(static_cast<double>(value)) : double_to_bfloat16(static_cast<double>(value));
  };
  for (auto& tensor : *network.graph().mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    std::string bytes;
    for (const float value : network.values(tensor.name())) {
      const uint16_t bits = narrow(value);
      bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
    tensor.set_data_type(type);
    tensor.set_raw_data(bytes);
  }
  const auto declare = [type](onnx::ValueInfoProto& info) {
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    if (tensor.elem_type() == onnx::TensorProto::FLOAT) tensor.set_elem_type(type);
  };
  for (auto& node : *network.graph().mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (node.op_type() == "Cast" && attribute.name() == "to" && attribute.i() == onnx::TensorProto::FLOAT) attribute.set_i(type);
    }
  }
  for (auto& input : *network.graph().mutable_input()) declare(input);
  for (auto& output : *network.graph().mutable_output()) declare(output);
  return network;
}

/// A network in f16 as ONNX Runtime writes it for processors without f16: all nodes in f32, under other names, between Casts of the inputs,
/// constants and outputs.
inline test::Network widened(test::Network network, const std::string& prefix = "wide.") {
  std::set<std::string> kept;
  for (const auto& tensor : network.graph().initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT16) kept.insert(tensor.name());
  }
  const auto wide = [&](const std::string& name) { return kept.contains(name) ? name : prefix + name; };
  for (auto& node : *network.graph().mutable_node()) {
    for (std::string& input : *node.mutable_input()) input = wide(input);
    for (std::string& output : *node.mutable_output()) output = wide(output);
  }
  const onnx::GraphProto graph = network.graph();
  for (const auto& input : graph.input()) network.node("Cast", {input.name()}, {wide(input.name())}, {"to=1"});
  for (const auto& tensor : graph.initializer()) {
    if (!kept.contains(tensor.name())) network.node("Cast", {tensor.name()}, {wide(tensor.name())}, {"to=1"});
  }
  for (const auto& output : graph.output()) network.node("Cast", {wide(output.name())}, {output.name()}, {"to=10"});
  network.sort();
  return network;
}

}  // namespace relayout::testing
