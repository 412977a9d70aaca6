#pragma once

#include "base/indexed.h"
#include "layout/connections.h"
#include "layout/layout_cut.h"
#include "layout/ports.h"

namespace relayout::layout {

/// The orders that nodes could adopt: convolutions want channels-last, and from there orders spread upstream and downstream until an
/// operator stops them. A node whose ports would all be contiguous has no choice.
struct Orders {
  IdVector<LayoutNodeId, OperatorId> op_of;  ///< the operator that a node is, or is a part of; none: no choice
  IdVector<LayoutNodeId, Ports> ports;       ///< of nodes with a choice
  IdVector<LayoutNodeId, Barrier> barriers;  ///< of nodes that an order reached and that could not adopt it
  IdVector<LayoutNodeId, bool> is_shuffle;   ///< parts of a channel shuffle
  IdVector<LayoutNodeId, bool> is_fused;     ///< parts of the convolution that they are one operator with: they cost nothing
};
[[nodiscard]] Orders find_orders(const LayoutGraph& graph, const Connections& connections);

}  // namespace relayout::layout
