#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Sizes of the dims, by axis, of input 0 of rank `rank` that the node's weight (input 1) of dims `weight` requires.
[[nodiscard]] std::map<int64_t, int64_t> demanded_dims(const Node& node, const Dims& weight, std::size_t rank);

}  // namespace relayout
