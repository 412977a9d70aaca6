// Looks for intermediate numbers that constants bring beyond their type in one model alone, with both models run on usual numbers.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "model/node.h"
#include "proof/finite_numbers.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/doubts/extreme_runs.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/reference.h"

namespace relayout {

VerifyFindings find_formula_overflow(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  if (pair.grain != DataType::undefined) return {};  // a coarser type has an earlier end, which is intended
  proof::Overflows overflows = proof::overflows_alone(*pair.a.model, *pair.b.model);
  // A fold that brings a factor into weights is right.
  if (pair.proved) std::erase_if(overflows.of_a, [](const proof::Overflow& overflow) { return overflow.is_multiplied; });
  if (overflows.of_a.empty() && overflows.of_b.empty()) return {};
  const auto find = [&](const Node& node) -> const proof::Overflow* {
    for (const auto* const list : {&overflows.of_a, &overflows.of_b}) {
      const auto found = std::ranges::find(*list, &node, &proof::Overflow::node);
      if (found != list->end()) return &*found;
    }
    return nullptr;
  };
  const auto found = compare_finite(pair, evidence.reference(), Extreme::usual, [&](const Node& node) { return find(node) != nullptr; });
  if (!found) return {};
  const std::string from = exact_number(std::round(std::exp2(find(*found->maker)->from)));
  return {{.text = "node " + found->maker->label() + " of " + (found->is_of_a ? "A" : "B") + " overflows from about " + from +
                   " on, where the other model does not" + (pair.proved ? "; the proof leaves this open" : ""),
           .node = reported_name(*found->maker)}};
}

}  // namespace relayout
