#pragma once

namespace relayout {

class Model;
struct LoadOptions;

/// Newest opset of the default domain that this code was reviewed for, whatever the linked ONNX library knows.
inline constexpr int kReviewedOpset = 28;
/// Newest ir_version reviewed; newer ones warn and go on.
inline constexpr int kReviewedIrVersion = 13;

/// Everything that must hold before any pass looks at a model: ir_version, opset imports, initializer sizes, attribute types and
/// operand counts of the operators this tool rewrites (convolution weights and biases, BatchNormalization parameters), unique graph
/// inputs and outputs, functions without recursion. Throws Error{invalid} or Error{unsupported}; warns where DESIGN says so.
void check(const Model& model, const LoadOptions& options);

}  // namespace relayout
