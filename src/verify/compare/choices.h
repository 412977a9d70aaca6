#pragma once

#include "relayout/graph.h"
#include "verify/compare/compare_nodes.h"
#include "verify/pair.h"
#include "verify/run/reference.h"

namespace relayout {

/// A node that chooses among numbers or steps, and the one in its place in the other model: they choose by other numbers.
struct OtherChoice {
  const Node* a = nullptr;
  const Node* b = nullptr;
  std::vector<std::size_t> entries;  ///< of ProofResult::unexplained, of the nodes around
  double error = 0, bound = 0;       ///< relative to the range of the numbers
};

/// Compares what the choosing nodes of values that a proof leaves open choose by, both models fed A's values. A result that chooses hides
/// differences in front of it unless a number comes to lie between two steps. Numbers that choose alike by definition (scores before and
/// after a Softmax, both sides of a comparison scaled, what lies beyond a quantizer's ends) count as equal.
[[nodiscard]] std::vector<OtherChoice> compare_choices(const Pair& pair, const Reference& reference, const Paired& paired);

}  // namespace relayout
