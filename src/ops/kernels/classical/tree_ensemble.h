#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// The trees of a node of domain ai.onnx.ml, each as text, sorted: equal for ensembles that compare the same features with the same
/// numbers and then vote the same, in whatever order nodes, trees and votes are listed. Nothing for other nodes and for trees that do not
/// run.
[[nodiscard]] std::optional<std::vector<std::string>> listed_trees(const Node& node);
/// Whether an attribute of such a node only contributes to its trees.
[[nodiscard]] bool lists_trees(std::string_view attribute);
/// The numbers in attributes of a node of domain ai.onnx.ml with which it compares elements of its operand.
[[nodiscard]] std::vector<double> compared_numbers(const Node& node);

}  // namespace relayout
