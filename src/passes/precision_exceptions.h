#pragma once

#include <string_view>

#include "relayout/graph.h"

namespace relayout::passes {

/// Why an operand of a node stays in 32 bits, with all operands of its type; empty when 16 bits do.
[[nodiscard]] std::string_view fragile_reason(const Node& node, std::size_t input);

}  // namespace relayout::passes
