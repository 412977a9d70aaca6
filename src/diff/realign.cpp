// Decides by the matching which of two nodes in the same place was added or removed, where the proof of an unequal pair of models in `diff`
// is out of step.
#include "diff/realign.h"

#include <cstddef>
#include <optional>

#include "diff/fingerprints.h"
#include "diff/matching.h"
#include "proof/claim.h"
#include "proof/node_differences.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout {
namespace {

using proof::Claim;
using proof::Look;
using proof::Ref;
using proof::Sides;

/// The first node upstream that a fold cannot have absorbed.
const Node* visible(const Node* node) {
  constexpr int kLongest = 64;
  for (int i = 0; node != nullptr && i < kLongest; ++i) {
    const Value* const below = transparent_operand(*node);
    if (below == nullptr) return node;
    node = below->producer();
  }
  return node;
}

/// The operand to continue with: the one that `wanted` produces, else the first that is not stored.
Ref way_down(proof::Side& side, Ref of, const Node* wanted) {
  const Node& node = *of.value->producer();
  Ref first;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Ref operand = side.operand(of, i);
    if (!operand) continue;
    const Node* const made = operand.value->producer();
    if (made != nullptr && made == wanted) return operand;
    const bool is_stored = side.stored(operand) != nullptr;
    if (!first && !is_stored) first = operand;
  }
  return first;
}

}  // namespace

std::optional<Look> realign(Sides& sides, const Matching& matching, const Claim& claim, const Look& found) {
  if (claim.a.call != nullptr || claim.b.call != nullptr || !claim.a || !claim.b) return std::nullopt;
  const Node* const a = claim.a.value->producer();
  const Node* const b = claim.b.value->producer();
  if ((a != nullptr && is_constant_node(*a)) || (b != nullptr && is_constant_node(*b))) return std::nullopt;
  const Node *const seen_a = visible(a), *const seen_b = visible(b);
  const Node* const for_a = seen_a != nullptr ? matching.partner_of_a(*seen_a) : nullptr;
  const Node* const for_b = seen_b != nullptr ? matching.partner_of_b(*seen_b) : nullptr;
  if (for_a == seen_b && for_b == seen_a) return std::nullopt;
  const bool is_pair = a != nullptr && b != nullptr && proof::same_operator(*a, *b);
  if (found.issues.empty() && !is_pair) return std::nullopt;
  Look out;
  // An input of the graph needs no partner.
  const bool a_is_known = seen_a == nullptr || for_a != nullptr, b_is_known = seen_b == nullptr || for_b != nullptr;
  if (b != nullptr && a_is_known && !b_is_known) {
    const Ref below = way_down(sides.b, claim.b, for_a);
    if (!below) return std::nullopt;
    out.issues.push_back(proof::issue_of_node(sides, Unexplained::Kind::node_added, *b, false, "was not there"));
    out.nodes_b.push_back(b);
    out.claims.push_back({claim.a, below, {}, {}, {}, {}, b});
    return out;
  }
  if (a != nullptr && b_is_known && !a_is_known) {
    const Ref below = way_down(sides.a, claim.a, for_b);
    if (!below) return std::nullopt;
    out.issues.push_back(proof::issue_of_node(sides, Unexplained::Kind::node_removed, *a, true, "is gone"));
    out.nodes_a.push_back(a);
    out.claims.push_back({below, claim.b, {}, {}, {}, {}, claim.reader});
    return out;
  }
  if (!is_pair || for_a == nullptr || for_b == nullptr) return std::nullopt;
  out.issues.push_back(proof::issue_of_other_value(sides, claim, *claim.a.value));
  return out;
}

}  // namespace relayout
