#pragma once

#include <string>
#include <vector>

#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/nodes/value_bounds.h"

namespace relayout {

/// Numbers for which a node has a rule of its own: a Clip for those above its limit. Samples without any show nothing of the rule.
struct Piece {
  const Node* node = nullptr;
  const Value* watched = nullptr;  ///< holds the numbers: an operand, or the node's own result
  double above = 0, below = 0;     ///< the numbers between; of `is_point`, the one that both are
  bool is_point = false;

  /// The distance of a number from the next one that another piece has: 0 for one that this piece does not have. Of a point, where the
  /// number that takes its place is not known, its size, and one at least; of results, infinite.
  [[nodiscard]] double depth(double number) const;
  /// "number above 6"
  [[nodiscard]] std::string text() const;
};

/// The pieces of a node's definition (Trait::piecewise) that its operands can reach; `is_wide`: numbers of models of 32 bits and more, in
/// which those are large that Exp makes infinity of.
[[nodiscard]] std::vector<Piece> pieces_of(const Node& node, ValueBounds& bounds, bool is_wide);

/// The value that limits begin with: upstream of limits by constants, and of what hands on elements.
[[nodiscard]] const Value* before_limits(const Value& value);

}  // namespace relayout
