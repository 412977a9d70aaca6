#pragma once

#include "layout/cost.h"
#include "relayout/execute.h"
#include "relayout/graph.h"

namespace relayout {

/// Builds executors whose layout plan uses other costs than this machine's: for tests, which need the same plan on every machine.
struct ExecutorBuilder {
  /// Throws as Executor's constructor does. `costs` must outlive the executor; nullptr: this machine's.
  [[nodiscard]] static Executor build(const Graph& graph, ExecuteOptions options, const layout::CostModel* costs);
};

}  // namespace relayout
