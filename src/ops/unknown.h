#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

class Model;
class Node;

/// Operators of a model that neither the op table nor the linked ONNX library nor the model's own functions know, as "domain:Op",
/// sorted. Nested graphs and functions are looked into.
[[nodiscard]] std::vector<std::string> unknown_operators(const Model& model);

/// What of a node its operator does not have in the node's opset, so that the node must be meant for another: "no attribute 'axes' in opset
/// 21", "at most 1 input in opset 13". Nothing where all is known, or the operator is not ONNX's. Attributes whose names begin with two
/// underscores are tools' own.
[[nodiscard]] std::optional<std::string> other_version(const Node& node);

}  // namespace relayout
