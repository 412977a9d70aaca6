// Whether a model computes in 16 bits or fewer, and the words "B computes … in f16", "rounds the results of" and "holds constants in" with
// the first such node. Rounding to 16 bits in one model alone is reported by a comparison, however small the effect on the outputs.
#include "verify/computing_types.h"

#include <algorithm>
#include <string>

#include "base/numbers.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/measured_types.h"

namespace relayout {

NarrowWork narrow_work(const Graph& graph) {
  NarrowWork work;
  OpSignatures signatures;
  const ElementTypes types(graph, signatures);
  for_each_node(graph.model(), [&](const Node& node) {
    const bool linear = has_trait(node, Trait::linear);
    work.linear_in_all += linear ? 1 : 0;
    if (node.input(0) != nullptr && node.output(0) != nullptr && (node.is("Cast") || node.is("CastLike")) &&
        node.input(0)->is_stored_constant() && is_narrow(types.of(*node.input(0))) && !is_narrow(types.of(*node.output(0)))) {
      work.coarsest = coarser(work.coarsest, types.of(*node.input(0)));
      ++work.constants;
      if (work.first.empty()) work.first = node.label();
    }
    const Traits traits = traits_of(node);
    if (traits.has(Trait::exact) || traits.moves_input(0) || !node.subgraphs().empty()) return;
    const auto rounds = [&](const Value* output) { return output != nullptr && is_narrow(types.of(*output)); };
    if (std::ranges::none_of(node.outputs(), rounds)) return;
    for (const Value* const output : node.outputs()) {
      if (rounds(output)) work.coarsest = coarser(work.coarsest, types.of(*output));
    }
    if (work.nodes++ == 0) work.first = node.label();
    if (linear && work.linear++ == 0) work.first_linear = node.label();
  });
  return work;
}

bool is_coarser(const NarrowWork& b, const NarrowWork& a) noexcept {
  return unit_roundoff(b.coarsest) > unit_roundoff(a.coarsest);
}

std::string describe(const NarrowWork& b) {
  const std::string type(name_of(b.coarsest));
  std::string what;
  if (b.linear > 0) {
    what = "B computes " + format_count(b.linear) + " of " +
           counted(b.linear_in_all, "convolution or matrix product", "convolutions and matrix products") + " in " + type;
  } else if (b.nodes > 0) {
    what = "B rounds the results of " + counted(b.nodes, "node to ", "nodes to ") + type;
  } else {
    what = "B holds " + counted(b.constants, "constant in ", "constants in ") + type;
  }
  return what + " (first: " + (b.linear > 0 ? b.first_linear : b.first) + "), A does not";
}

}  // namespace relayout
