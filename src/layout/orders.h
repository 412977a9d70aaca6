#pragma once

#include <vector>

#include "layout/connections.h"
#include "layout/ports.h"

namespace relayout {

/// Which orders nodes could take up: convolutions want channels-last, and from there orders spread in both directions as far as operators
/// let them. A node whose ports would all be contiguous has no choice.
struct Orders {
  std::vector<int> op_of;         ///< per node the operator that it is, or is a part of; -1: no choice
  std::vector<Ports> ports;       ///< of nodes with a choice
  std::vector<Barrier> barriers;  ///< of those that an order reached and that could not take it up
  std::vector<bool> is_shuffle;   ///< parts of a channel shuffle
  std::vector<bool> is_fused;     ///< run as a part of the convolution that they are one operator with: they cost nothing
};
[[nodiscard]] Orders find_orders(const LayoutGraph& graph, const Connections& connections);

}  // namespace relayout
