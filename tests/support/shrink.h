#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>

namespace relayout::test {

/// The smallest model that can be had from `model` by leaving things out one after the other (outputs, nodes, attributes, trailing
/// inputs, values other than 1) while `fails` goes on to hold. `fails` must be false for what is no valid model.
[[nodiscard]] onnx::ModelProto shrink(onnx::ModelProto model, const std::function<bool(const onnx::ModelProto&)>& fails);

/// The model as text: the graph in ONNX's syntax, and what stands behind values and nodes that the syntax cannot name.
[[nodiscard]] std::string described(const onnx::ModelProto& model);

}  // namespace relayout::test
