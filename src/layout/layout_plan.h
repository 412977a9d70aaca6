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
  bool has_choice = false;  ///< there is an order that it could adopt
  bool is_ordered = false;  ///< its ports have the orders of `ports`; else they are contiguous
  bool is_shuffle = false;  ///< one of the three nodes of a channel shuffle, which are one operator
  Ports ports;              ///< with a choice
  Barrier barrier;          ///< without one, next to a value that could have an order: the reason
  CostModel::Times times;
};

/// A copy of a value into another order than it is produced in, for all readers that need that order.
struct PlannedCopy {
  LayoutValueId value = LayoutValueId::none;
  AxisOrder from, to;
  std::vector<LayoutNodeId> readers;  ///< none: a graph output
};

/// The order of each tensor, for one graph and one set of shapes.
struct LayoutPlan {
  IdVector<LayoutNodeId, NodePlan> nodes;
  /// The order in which a value is produced; contiguous ones are empty. Dense or not.
  IdVector<LayoutValueId, AxisOrder> held;
  /// Values that could have an order other than contiguous: only those are ever copied.
  IdVector<LayoutValueId, bool> has_order;
  std::vector<PlannedCopy> copies;                      ///< in the order of the values
  std::vector<LayoutValueId> packs;                     ///< values that are parts of others and are made dense for readers that need it
  int64_t nanoseconds = 0, contiguous_nanoseconds = 0;  ///< predicted: this plan, and everything contiguous

  /// Predicted time with everything contiguous over that of the plan; 1 for a plan without costs.
  [[nodiscard]] double predicted_gain() const noexcept;
  /// The order in which a node needs an operand; nothing when it takes the operand as stored.
  [[nodiscard]] std::optional<AxisOrder> wanted(const LayoutGraph& graph, LayoutNodeId node, std::size_t input) const;
};

struct PlanningOptions {
  LayoutChoice choice = LayoutChoice::automatic;
  const CostModel* costs = nullptr;  ///< nullptr: default_costs()
};

/// Gives every tensor its order by a minimum cut over the operators. Each runs contiguous or with its ports in orders of their own; its
/// gain is weighed against the copies at the borders, which several readers share.
[[nodiscard]] LayoutPlan plan_layout(const LayoutGraph& graph, const PlanningOptions& options = {});

/// PyTorch's rule: a convolution produces channels-last, others follow their first operand of full size, barriers produce contiguous; each
/// decides for itself. Only for comparison.
[[nodiscard]] LayoutPlan propagate_layout(const LayoutGraph& graph);
/// Its reorders, their bytes, and its predicted gain.
[[nodiscard]] LayoutPropagation sum_up_propagation(const LayoutGraph& graph);

/// The reason why a plan reorders too much inside the graph ("channel thrashing"); empty: it does not.
[[nodiscard]] std::string thrash_reason(const LayoutReport& report, const LayoutPlan& plan);

/// Fills in the sums and shares of a report, and of its regions, from its tensors, operators and reorders.
void add_up(LayoutReport& report);

/// Views with gaps, or in another order than the planned one, with a reader that needs them dense. Each is copied once.
[[nodiscard]] std::vector<LayoutValueId> find_packs(const LayoutGraph& graph, const Connections& connections, const LayoutPlan& plan);

}  // namespace relayout::layout
