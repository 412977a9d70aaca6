#pragma once

#include <optional>

#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// Where the axes of an operand go.
struct AxisMoves {
  Dims axes;      ///< of each axis of the result: the operand's axis, or −1 for a new one
  Dims squeezed;  ///< axes of the operand that are taken, in order
};

/// Of a Transpose, a Squeeze or an Unsqueeze; nothing where they are not known, or for another node.
[[nodiscard]] std::optional<AxisMoves> moves_of(const Node& node, PassContext& context);
/// Those of two nodes in a row.
[[nodiscard]] AxisMoves joined(const AxisMoves& first, const AxisMoves& second);
[[nodiscard]] bool moves_nothing(const AxisMoves& moves);
/// The operator that moves axes so; empty where none alone does.
[[nodiscard]] std::string_view operator_that(const AxisMoves& moves);
/// Makes a node move the axes of its operand so, which `operator_that` does.
void set_moves(Node& node, const AxisMoves& moves, PassContext& context);

}  // namespace relayout::passes
