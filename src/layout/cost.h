#pragma once

#include <cstdint>

#include "base/machine.h"
#include "layout/ports.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/layout.h"

namespace relayout::layout {

/// Costs of copies and operators. The plan only compares sums, so that only ratios matter.
class CostModel {
 public:
  struct Times {
    int64_t contiguous = 0, ordered = 0;  ///< nanoseconds: every port contiguous; the ports as given
  };
  virtual ~CostModel() = default;
  /// Time of one copy of a tensor into another order.
  [[nodiscard]] virtual int64_t copy_nanoseconds(const LayoutValue& value) const = 0;
  [[nodiscard]] virtual Times times(const LayoutGraph& graph, const LayoutNode& node, const Ports& ports) const = 0;
};

/// The costs of a class of processors, and those of this processor.
[[nodiscard]] const CostModel& default_costs(InstructionSet set);
[[nodiscard]] const CostModel& default_costs();

/// Whether an operator's time differs between channels-last and contiguous, so that measuring it pays.
[[nodiscard]] bool depends_on_layout(const Op& op);

/// The report of relayout/layout.h with costs other than those of this processor.
[[nodiscard]] LayoutReport report_layout(const Graph& graph, const LayoutRequest& request, const CostModel& costs);

/// Multiply-accumulates of a convolution, 0 for everything else or when they do not fit.
[[nodiscard]] int64_t convolution_macs(const LayoutGraph& graph, const LayoutNode& node);

}  // namespace relayout::layout
