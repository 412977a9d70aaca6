#pragma once

#include <functional>
#include <limits>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

class ElementTypes;

/// Numbers between which all elements of a value lie. NaN aside.
struct Bounds {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool operator==(const Bounds&) const = default;
};

using BoundsOf = std::function<Bounds(const Value& value)>;

/// No dim, index or count of a model that runs is larger.
inline constexpr double kMostSize = 0x1p30;

/// The bounds of the numbers that a type holds; of floating-point types, infinite.
[[nodiscard]] Bounds bounds_of_type(DataType type);
[[nodiscard]] Bounds meet(Bounds a, Bounds b);

/// Bounds of a node's first result, by the definition of its operator in the ONNX specification, from those of its operands: nothing behind
/// a Sigmoid is below 0. Those of its type where none are known, and of operators of other domains.
[[nodiscard]] Bounds bounds_of_result(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of);

}  // namespace relayout
