#pragma once

namespace relayout {

class Graph;
class Model;
class Node;
struct LoadOptions;

/// Newest opset of the default domain that this code was reviewed for (ONNX 1.23), whatever the linked ONNX library knows.
inline constexpr int kReviewedOpset = 28;
/// Newest ir_version reviewed; newer ones warn and go on.
inline constexpr int kReviewedIrVersion = 13;

/// Everything that must hold before any pass looks at a model and that building its graphs has not made sure of: ir_version, opset
/// imports, functions without recursion, payloads of all tensors, operators this tool rewrites. Throws Error{invalid} or
/// Error{unsupported}; warns where a newer format may still be understood. Linear in the model.
void check(const Model& model, const LoadOptions& options);

/// Initializers whose contents building the graph did not look at: strings and sparse ones.
void check_initializers(const Graph& graph);
/// Tensors in the attributes of a node: sizes, places of external data, sparse indices.
void check_tensors(const Node& node);
/// Operand counts, attribute types, and the weights and parameters of an operator that passes rewrite.
void check_operator(const Node& node);

}  // namespace relayout
