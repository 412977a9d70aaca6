#pragma once

#include <functional>
#include <limits>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

class ElementTypes;

/// The range of all elements of a value; NaN is ignored.
struct Bounds {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool operator==(const Bounds&) const = default;
};

using BoundsOf = std::function<Bounds(const Value& value)>;

/// No dim, index or count of a model that runs is larger.
inline constexpr double kMostSize = 0x1p30;

/// The range of an integer or boolean type; infinite for the others.
[[nodiscard]] Bounds bounds_of_type(DataType type);
[[nodiscard]] Bounds meet(Bounds a, Bounds b);

/// Bounds of a node's first result from those of its operands, by the definition of its operator in the ONNX specification: a Sigmoid is
/// never below 0. The bounds of its type where no others are known, and for operators of other domains.
[[nodiscard]] Bounds bounds_of_result(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of);

}  // namespace relayout
