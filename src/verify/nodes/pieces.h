#pragma once

#include <string>
#include <vector>

#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/nodes/value_bounds.h"

namespace relayout {

/// A range of numbers for which a node has a rule of its own: for a Clip those above its limit. Samples outside it do not test the rule.
struct Piece {
  const Node* node = nullptr;
  const Value* watched = nullptr;  ///< holds the numbers: an operand, or the node's own result
  double above = 0, below = 0;     ///< the ends of the range; with `is_point`, both are the number
  bool is_point = false;

  /// Distance of a number in this piece from the nearest number in another piece; 0 for a number outside this piece. At a point, where the
  /// replacement of the number is unknown, the magnitude of the number and at least 1; at a result, infinite.
  [[nodiscard]] double depth(double number) const;
  /// Such as "number above 6".
  [[nodiscard]] std::string text() const;
};

/// The pieces of a node's definition (Trait::piecewise) that its operands can reach. `is_wide`: the models compute in 32 bits or more,
/// where only large numbers make Exp overflow.
[[nodiscard]] std::vector<Piece> pieces_of(const Node& node, ValueBounds& bounds, bool is_wide);

/// The value upstream of limits by constants, of Casts and of nodes that move elements.
[[nodiscard]] const Value* before_limits(const Value& value);

}  // namespace relayout
