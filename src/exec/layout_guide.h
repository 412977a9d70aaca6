#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/indexed.h"
#include "exec/inference.h"
#include "exec/program.h"
#include "layout/cost.h"
#include "layout/layout_plan.h"

namespace relayout::exec {

/// The layout plan of some nodes of a program, queried by the program's numbers. Without a plan no order is requested anywhere.
class LayoutGuide {
 public:
  LayoutGuide() = default;
  LayoutGuide(const Program& program, const std::vector<NodeId>& nodes, const IdVector<ValueId, ValueState>& states,
              const layout::PlanningOptions& options);

  /// The order in which a node needs an operand; nothing when any order will do.
  [[nodiscard]] std::optional<layout::AxisOrder> wanted(NodeId node, std::size_t input) const;
  /// The order in which a node writes a result; nothing when that follows from its operands.
  [[nodiscard]] std::optional<layout::AxisOrder> made(NodeId node, std::size_t output) const;
  /// Whether a node's ports are in the order that the plan chose; nothing when it has no choice.
  [[nodiscard]] std::optional<bool> is_ordered(NodeId node) const;
  /// Whether a value could be laid out in an order other than contiguous, so that copying it is a change of layout.
  [[nodiscard]] bool has_order(ValueId value) const;

  [[nodiscard]] int64_t planned_reorders() const { return static_cast<int64_t>(plan_.copies.size()); }
  [[nodiscard]] int64_t planned_packs() const { return static_cast<int64_t>(plan_.packs.size()); }

 private:
  layout::LayoutValueId id_of(const Program& program, const IdVector<ValueId, ValueState>& states, ValueId value);
  [[nodiscard]] layout::LayoutNodeId place_of(NodeId node) const;

  layout::LayoutGraph graph_;
  layout::LayoutPlan plan_;
  IdVector<layout::LayoutNodeId, layout::LayoutNodeId> answers_;  ///< see see_through_sequences
  std::unordered_map<NodeId, layout::LayoutNodeId> nodes_;        ///< the program's to the layout graph's
  std::unordered_map<ValueId, layout::LayoutValueId> values_;
};

/// Measured times of convolutions, pools, Resize, Concat and LRN on this machine, each alone, contiguous and with its ports in
/// channels-last. Copies and everything else take the default rates. Each kind and size is timed once, for some milliseconds; nodes that
/// cannot run keep their default. Two plans by measured costs need not be equal.
class MeasuredCosts : public layout::CostModel {
 public:
  explicit MeasuredCosts(int threads) : threads_(threads) {}
  [[nodiscard]] int64_t copy_nanoseconds(const layout::LayoutValue& value) const override;
  [[nodiscard]] Times times(const layout::LayoutGraph& graph, const layout::LayoutNode& node, const layout::Ports& ports) const override;

 private:
  int threads_;
  mutable std::map<std::string, Times> known_;  ///< by attributes of the node, and dims and orders of its operands
};

}  // namespace relayout::exec
