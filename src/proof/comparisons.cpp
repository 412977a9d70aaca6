// Compares Less, Greater, LessOrEqual and GreaterOrEqual with exchanged operands in the proof: a < b is b > a (from opset 7 on).
#include <cstddef>
#include <vector>

#include "ops/op.h"
#include "ops/traits.h"
#include "proof/claim.h"
#include "proof/examine.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout::proof {
namespace {

/// Before this version, comparisons broadcast by attributes.
constexpr int kComparing = 7;

}  // namespace

bool examine_comparison(Sides& sides, const Claim& claim, Look& look) {
  if (!claim.a || !claim.b) return false;
  const Node *const a = claim.a.value->producer(), *const b = claim.b.value->producer();
  const auto is_known = [](const Node* node) { return node != nullptr && node->domain().empty() && node->opset() >= kComparing; };
  if (!is_known(a) || !is_known(b)) return false;
  const Predicate predicate = predicate_of(*a);
  if (!compares(predicate) || predicate == Predicate::equal || predicate_of(*b) != mirrored(predicate)) return false;
  std::vector<Claim> operands;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Ref of_a = sides.a.operand(claim.a, i), of_b = sides.b.operand(claim.b, 1 - i);
    if (!of_a || !of_b || !sides.have_one_type(of_a, of_b)) return false;
    operands.push_back({of_a, of_b, {}, {}, {}, {}, b});
  }
  look.claims.insert(look.claims.end(), operands.begin(), operands.end());
  look.nodes_a.push_back(a);
  look.nodes_b.push_back(b);
  look.rewritten.push_back(b);
  return true;
}

}  // namespace relayout::proof
