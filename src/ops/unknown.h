#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

class Model;
class Node;

/// Operators of a model that neither the op table nor the linked ONNX library nor the model's own functions define, as "domain:Op", sorted.
/// Nested graphs and functions are searched too.
[[nodiscard]] std::vector<std::string> unknown_operators(const Model& model);

/// The first difference between a node and its operator in the node's opset, which shows that the node is meant for another opset:
/// "no attribute 'axes' in opset 21", "at most 1 input in opset 13". Nothing without a difference, or when the operator is not ONNX's.
/// Attributes whose names begin with two underscores belong to tools.
[[nodiscard]] std::optional<std::string> other_version(const Node& node);

}  // namespace relayout
