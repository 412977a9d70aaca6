#pragma once

#include "layout/cost.h"
#include "relayout/execute.h"
#include "relayout/graph.h"

namespace relayout {

/// Makes executors whose layout plan goes by other costs than this machine's: for tests, which want one plan on every machine.
struct ExecutorBuilder {
  /// Throws as Executor's constructor does. `costs` must outlive the executor; nullptr: this machine's.
  [[nodiscard]] static Executor build(const Graph& graph, ExecuteOptions options, const layout::CostModel* costs);
};

}  // namespace relayout
