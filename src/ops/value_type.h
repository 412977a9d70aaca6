#pragma once

#include <variant>

#include "relayout/graph.h"

namespace relayout {

/// The element type of a node's output where it follows from the node alone, or the input whose type it has, or nothing.
[[nodiscard]] std::variant<std::monostate, DataType, const Value*> type_rule(const Node& node, int output_index);

}  // namespace relayout
