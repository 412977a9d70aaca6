#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace relayout {

class Graph;
class Model;
class Node;
struct LoadOptions;

/// Newest opset of the default domain that this code was reviewed for (ONNX 1.23), whichever opsets the linked ONNX library knows.
inline constexpr int kReviewedOpset = 28;
/// Newest reviewed ir_version; newer ones cause a warning only.
inline constexpr int kReviewedIrVersion = 13;

/// Checks all preconditions of passes that building the graphs has not checked: ir_version, opset imports, functions without recursion,
/// payloads of all tensors, and the operators that passes rewrite. Throws Error{invalid} or Error{unsupported}; warns about a newer format
/// that may still be understood, and about nodes of the same name. Linear in the size of the model.
void check(const Model& model, const LoadOptions& options);

/// Names that several nodes of the main graph, or of one function, have (nested graphs included), with the largest number of such nodes.
[[nodiscard]] std::map<std::string, int64_t> repeated_names(const Model& model);

/// Checks initializers whose contents building the graph did not check: strings and sparse tensors.
void check_initializers(const Graph& graph);
/// Checks tensors in the attributes of a node: sizes, places of external data, sparse indices.
void check_tensors(const Node& node);
/// Checks an operator that passes rewrite: operand counts, attribute types, weights and parameters.
void check_operator(const Node& node);

}  // namespace relayout
