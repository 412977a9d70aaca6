#pragma once

#include "base/indexed.h"
#include "layout/connections.h"
#include "layout/labelling.h"
#include "layout/ports.h"

namespace relayout::layout {

/// Which orders nodes could take up: convolutions want channels-last, and from there orders spread in both directions as far as operators
/// let them. A node whose ports would all be contiguous has no choice.
struct Orders {
  IdVector<LayoutNodeId, OperatorId> op_of;  ///< the operator that a node is, or is a part of; none: no choice
  IdVector<LayoutNodeId, Ports> ports;       ///< of nodes with a choice
  IdVector<LayoutNodeId, Barrier> barriers;  ///< of those that an order reached and that could not take it up
  IdVector<LayoutNodeId, bool> is_shuffle;   ///< parts of a channel shuffle
  IdVector<LayoutNodeId, bool> is_fused;     ///< run as a part of the convolution that they are one operator with: they cost nothing
};
[[nodiscard]] Orders find_orders(const LayoutGraph& graph, const Connections& connections);

}  // namespace relayout::layout
