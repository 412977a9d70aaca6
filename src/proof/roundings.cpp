// Reports a QuantizeLinear and DequantizeLinear that only the second model has, once ("rounds a value that was not rounded"), and goes on
// upstream, also of a Relu that the zero point replaces.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "proof/claim.h"
#include "proof/examine.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Whether a QuantizeLinear cuts off exactly the numbers below zero, as a Relu upstream of it would.
bool cuts_off_negatives(Side& side, Ref integers) {
  const Ref zero = side.operand(integers, 2);
  const auto known = zero ? side.contents(zero) : std::nullopt;
  if (!known) return !zero;
  const Tensor zeros = contiguous(known->load());
  std::vector<double> numbers(as_size(zeros.element_count()));
  load(zeros.type(), zeros.bytes(), 1, zeros.element_count(), numbers.data());
  const bool is_signed = known->type == DataType::int8 || known->type == DataType::int16;
  const double lowest = is_signed ? -std::ldexp(1.0, traits(known->type).bits - 1) : 0;
  return std::ranges::all_of(numbers, [&](double number) { return number == lowest; });
}

}  // namespace

bool examine_rounding(Sides& sides, const Claim& claim, Look& look) {
  const Node* const node_a = claim.a.value->producer();
  const Node* const back = claim.b.value->producer();
  if (sides.rounds_first || back == nullptr || !back->is("DequantizeLinear")) return false;
  if (node_a != nullptr && node_a->is("DequantizeLinear")) return false;
  const Ref integers = sides.b.resolve(sides.b.operand(claim.b, 0));
  const Node* const there = integers ? integers.value->producer() : nullptr;
  if (there == nullptr || !there->is("QuantizeLinear") || sides.b.constant(integers)) return false;
  const Ref rounded = sides.b.operand(integers, 0);
  if (!rounded) return false;
  look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_added, *there, false, "rounds a value that was not rounded"));
  for (std::size_t i = 1; i < 3; ++i) {
    const Ref of_there = sides.b.resolve(sides.b.operand(integers, i)), of_back = sides.b.resolve(sides.b.operand(claim.b, i));
    if (!of_there || !of_back || !sides.b.constant(of_there) || !sides.b.constant(of_back)) continue;
    look.constants_b.push_back(of_there);
    look.constants_b.push_back(of_back);
    const auto apart = difference(*sides.b.contents(of_there), *sides.b.contents(of_back));
    if (!apart || apart->values > 0) {
      look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_added, *back, false,
                                          "dequantizes by other numbers than " + there->label() + " quantizes by"));
    }
  }
  look.nodes_b.push_back(there);
  look.nodes_b.push_back(back);
  const Node* const before = sides.b.resolve(rounded) ? sides.b.resolve(rounded).value->producer() : nullptr;
  const bool is_absorbed = node_a != nullptr && node_a->is("Relu") && (before == nullptr || !before->is("Relu"));
  if (is_absorbed && cuts_off_negatives(sides.b, integers)) {
    look.bypassed.push_back(node_a);
    look.claims.push_back({sides.a.operand(claim.a, 0), rounded, {}, {}, {}, {}, there});
  } else {
    look.claims.push_back({claim.a, rounded, {}, {}, {}, {}, there});
  }
  return true;
}

}  // namespace relayout::proof
