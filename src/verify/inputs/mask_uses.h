#pragma once

#include <cstdint>

#include "relayout/graph.h"

namespace relayout {

/// What the readers of an input say about masks: 1 for elements that count, 0 for others.
enum class MaskUse : uint8_t {
  none,      ///< nothing
  possible,  ///< readers that fit a mask, but other numbers as well
  factor,    ///< products with features, which fit a map of labels as well
  certain,   ///< readers that only make sense for a mask: 1 − m, choices, terms that hide scores
  refuted,   ///< a reader of which a mask makes no sense: a function, scaling, comparison with other numbers
};

/// Judges all uses of an input, through casts, nodes that move elements, branches, loops and functions.
[[nodiscard]] MaskUse mask_use_of(const Value& input);

}  // namespace relayout
