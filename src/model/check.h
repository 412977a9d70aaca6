#pragma once

#include <string>

namespace onnx {
class SparseTensorProto;
}

namespace relayout {

class Graph;
class Model;
class Node;
struct LoadOptions;

/// Newest opset of the default domain that this code was reviewed for, whatever the linked ONNX library knows.
inline constexpr int kReviewedOpset = 28;
/// Newest ir_version reviewed; newer ones warn and go on.
inline constexpr int kReviewedIrVersion = 13;

/// Everything that must hold before any pass looks at a model and that building its graphs has not made sure of: ir_version, opset
/// imports, functions without recursion, payloads of all tensors, operators this tool rewrites. Throws Error{invalid} or
/// Error{unsupported}; warns where a newer format may still be understood. Linear in the model.
void check(const Model& model, const LoadOptions& options);

/// Tensors in attributes and sparse initializers of a graph (not of nested ones): sizes, places of external data, sparse indices.
void check_tensors(const Graph& graph);
/// Operand counts, attribute types, and the weights and parameters of an operator that passes rewrite.
void check_operator(const Node& node);

}  // namespace relayout
