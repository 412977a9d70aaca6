#pragma once

#include <cstdint>

#include "ops/constants.h"
#include "relayout/graph.h"

namespace relayout {

/// The way from a value to the operand of a node that ends, or changes without limit, at a number: Log, Sqrt, Reciprocal, a divisor …
enum class EdgeWay : uint8_t { none, through_products, elementwise };

struct EdgeDownstream {
  EdgeWay way = EdgeWay::none;
  const Node* node = nullptr;  ///< with the edge; nullptr where it may be in a caller
};

/// The nearest edge downstream of a value, upstream of which a small change of the value stays small. Only the next 64 readers are looked
/// at, since guards stand close to what they guard; at most one of them multiplies matrices. Functions are not followed: they may have an
/// edge, and so may the callers of the function that the value is in.
[[nodiscard]] EdgeDownstream edge_downstream(const Value& value, Constants& constants);

}  // namespace relayout
