#pragma once

#include "relayout/graph.h"

namespace relayout {

/// Whether −∞ in this value hides an element from a Softmax or a maximum, and from nothing else: readers move it there, add to it, or take
/// the smaller or larger of two numbers.
[[nodiscard]] bool only_hides(const Value& value);

}  // namespace relayout
