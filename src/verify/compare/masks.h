#pragma once

#include "relayout/datum.h"
#include "relayout/graph.h"

namespace relayout {

/// Whether all paths downstream of a value end in Softmaxes, through nodes that shift, scale, move or choose elements.
[[nodiscard]] bool ends_in_softmax(const Value& value);
/// Whether the same elements of both values are masked, some by different numbers: minus infinity to a Softmax of scores of common size.
[[nodiscard]] bool differs_by_masks(const Datum& a, const Datum& b);

}  // namespace relayout
