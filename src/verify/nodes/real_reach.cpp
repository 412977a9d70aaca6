// Which values of a graph floating-point inputs reach through floating-point values alone, and may thus make NaN or infinite.
#include "verify/nodes/real_reach.h"

#include <algorithm>

#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

RealReach::RealReach(const Graph& graph) {
  OpSignatures signatures;
  const ElementTypes types(graph, signatures);
  // An unknown type may be real.
  const auto is_real = [&](const Value& value) {
    const DataType type = types.of(value);
    return type == DataType::undefined || kRealTypes.has(type);
  };
  for (const Value* const input : graph.inputs()) {
    if (input->initializer() == nullptr && is_real(*input)) values_.insert(input);
  }
  for (const Node& node : graph.nodes()) {
    // Values that a nested graph reads from outside are not among the inputs of its node.
    const bool is_reached = !node.subgraphs().empty() ||
                            std::ranges::any_of(node.inputs(), [&](const Value* input) { return input != nullptr && has(*input); });
    if (!is_reached) continue;
    for (const Value* const output : node.outputs()) {
      if (output != nullptr && is_real(*output)) values_.insert(output);
    }
  }
}

}  // namespace relayout
