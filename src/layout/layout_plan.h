#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/cost.h"
#include "layout/layout_graph.h"
#include "relayout/layout.h"

namespace relayout::layout {

/// How a node runs.
struct NodePlan {
  bool has_choice = false;  ///< there is an order it could take up
  bool is_ordered = false;  ///< it does: its ports are in `ports`, else contiguous
  bool is_shuffle = false;  ///< one of the three nodes of a channel shuffle, which are one operator
  Ports ports;              ///< with a choice
  Barrier barrier;          ///< without one, next to a value that could lie in an order: why
  CostModel::Times times;
};

/// A value in another order than it is made in, for everybody who reads it so.
struct PlannedCopy {
  LayoutValueId value = LayoutValueId::none;
  AxisOrder from, to;
  std::vector<LayoutNodeId> readers;  ///< none: a graph output
};

/// Which tensor lies how, for one graph and one set of shapes.
struct LayoutPlan {
  IdVector<LayoutNodeId, NodePlan> nodes;
  /// The order that a value is made in; contiguous ones are empty. Dense or not.
  IdVector<LayoutValueId, AxisOrder> held;
  /// Values that could lie in an order other than contiguous: only those are ever copied.
  IdVector<LayoutValueId, bool> has_order;
  std::vector<PlannedCopy> copies;                      ///< in the order of the values
  std::vector<LayoutValueId> packs;                     ///< values that are a part of another and are made dense for readers that need it
  int64_t nanoseconds = 0, contiguous_nanoseconds = 0;  ///< predicted: this plan, and everything contiguous

  /// The order that a node needs an operand in; nothing when it takes it as it lies.
  [[nodiscard]] std::optional<AxisOrder> wanted(const LayoutGraph& graph, LayoutNodeId node, std::size_t input) const;
};

struct PlanningOptions {
  LayoutChoice choice = LayoutChoice::automatic;
  const CostModel* costs = nullptr;  ///< nullptr: default_costs()
};

/// Labels every tensor by a minimum cut over the operators: each runs contiguous or with its ports in an order of their own, what it gains
/// is weighed against the copies at the borders, of which several readers share one.
[[nodiscard]] LayoutPlan plan_layout(const LayoutGraph& graph, const PlanningOptions& options = {});

/// PyTorch's rule: a convolution makes channels-last, others follow their first operand of full size, barriers make contiguous, each
/// for itself. Only for comparison.
[[nodiscard]] LayoutPlan propagate_layout(const LayoutGraph& graph);

}  // namespace relayout::layout
