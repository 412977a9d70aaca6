#pragma once

#include "relayout/datum.h"
#include "relayout/graph.h"

namespace relayout {

/// Whether a value goes nowhere but into Softmaxes, moved, added to and chosen from on the way.
[[nodiscard]] bool ends_in_softmax(const Value& value);
/// Whether elements that differ much are minus infinity in both models, to a Softmax whose other elements are of common size.
[[nodiscard]] bool differs_by_masks(const Datum& a, const Datum& b);

}  // namespace relayout
