#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>

namespace relayout::test {

/// The smallest model that results from `model` by removing parts one after the other (outputs, nodes, attributes, trailing inputs, values
/// other than 1) while `fails` still holds. `fails` must be false for an invalid model.
[[nodiscard]] onnx::ModelProto shrink(onnx::ModelProto model, const std::function<bool(const onnx::ModelProto&)>& fails);

/// The model in ONNX's textual syntax.
[[nodiscard]] std::string described(const onnx::ModelProto& model);

}  // namespace relayout::test
