// Multiply-accumulates of a whole graph.
#include "inspect/macs.h"

#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "layout/shapes.h"
#include "ops/macs.h"
#include "relayout/graph.h"

namespace relayout {
std::optional<int64_t> count_macs(const Graph& graph, Shapes& shapes) {
  if (shapes.has_misfits()) return std::nullopt;
  int64_t total = 0;
  for (const Node& node : graph.nodes()) {
    const auto sum = macs_of(node, [&](const Value* value) { return shapes.dims_of(value); });
    const auto next = sum ? checked_add(total, *sum) : std::nullopt;
    if (!next) return std::nullopt;
    total = *next;
  }
  return total;
}

}  // namespace relayout
