// Finds intermediate numbers that constants, or Exp in float16, bring beyond their type in one model alone.

#include <cmath>

#include "model/node.h"
#include "model/walk.h"
#include "proof/finite_numbers.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "verify/compare/extreme_runs.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"

namespace relayout {
namespace {

/// The least number of which Exp is infinite in float16.
constexpr double kEndOfExpInHalf = 11.1;

/// Whether one of two models in float16 has an Exp more than the other.
bool has_other_exponentials(const Pair& pair) {
  const auto count_of = [](const Model& model) {
    int64_t count = 0;
    for_each_node(model, [&](const Node& node) { count += node.is("Exp") ? 1 : 0; });
    return count;
  };
  return pair.narrow == DataType::float16 && count_of(*pair.a.model) != count_of(*pair.b.model);
}

VerifyFinding finding_of(const Node& node, const char* model, const std::string& what, bool is_proved) {
  return {.text = "node " + node.label() + " of " + model + " " + what + ", where the other model does not" +
                  (is_proved ? "; the proof leaves this open" : ""),
          .node = reported_name(node)};
}

}  // namespace

VerifyFindings find_formula_overflow(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  if (pair.grain != DataType::undefined) return {};  // a coarser type has an earlier end, which is intended
  proof::Overflows overflows = proof::overflows_alone(*pair.a.model, *pair.b.model);
  // A fold that brings a factor into weights is right.
  if (pair.proved) std::erase_if(overflows.of_a, [](const proof::Overflow& overflow) { return overflow.is_multiplied; });
  const bool may_be_exponential = has_other_exponentials(pair);
  if (overflows.of_a.empty() && overflows.of_b.empty() && !may_be_exponential) return {};
  const auto find = [&](const Node& node) -> const proof::Overflow* {
    for (const auto* const list : {&overflows.of_a, &overflows.of_b}) {
      const auto found = std::ranges::find(*list, &node, &proof::Overflow::node);
      if (found != list->end()) return &*found;
    }
    return nullptr;
  };
  const auto may_make = [&](const Node& node) { return (may_be_exponential && node.is("Exp")) || find(node) != nullptr; };
  for (const auto& [list, of] : {std::pair(&overflows.of_a, "A"), std::pair(&overflows.of_b, "B")}) {
    const auto low = std::ranges::find_if(*list, &proof::Overflow::is_low);
    if (low != list->end()) return {finding_of(*low->node, of, text_of(*low), pair.proved)};
  }
  const ExtremeTask task{pair, evidence.reference(), evidence.layers(), evidence.entering_samples()};
  auto found = compare_finite(task, Extreme::usual, may_make);
  const bool is_summed =
      std::ranges::any_of(overflows.of_a, &proof::Overflow::is_summed) || std::ranges::any_of(overflows.of_b, &proof::Overflow::is_summed);
  if (!found && is_summed) found = compare_finite(task, Extreme::large, may_make);
  if (!found) return {};
  const proof::Overflow* const overflow = find(*found->maker);
  const proof::Overflow of_exp{.from = std::log2(kEndOfExpInHalf)};
  return {finding_of(*found->maker, found->is_of_a ? "A" : "B", text_of(overflow == nullptr ? of_exp : *overflow), pair.proved)};
}

}  // namespace relayout
