// Compares values by their elements in row-major order, where only one model reshapes, or at other places.

#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "proof/attributes.h"
#include "proof/chain.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

bool is_elementwise(const Node& node) {
  // Before opset 7 operands were broadcast by attributes.
  return node.opset() >= 7 && has_trait(node, Trait::elementwise);
}

bool is_single(Side& side, Ref ref) {
  const auto constant = side.constant(ref);
  return constant && element_count(constant->dims) == 1;
}

/// Whether an affine has the same effect on a value with different dims but the same last axis.
bool is_flat_step(const Step& step) {
  return step.constant_rank <= 1 && (step.lanes.size() == 1 || (step.axis.from_back && step.axis.index == 0));
}

/// Moves upstream past nodes that keep all elements in order, while it is certain that they can run. They and their other operands are
/// accounted for.
void pass_reshapes(Sides& sides, Ref& at, bool is_first, Look& look) {
  Side& side = is_first ? sides.a : sides.b;
  Shapes& shapes = is_first ? sides.shapes_a : sides.shapes_b;
  for (;;) {
    const Node* const node = at.value->producer();
    const bool passes = node != nullptr && at.value->output_index() == 0 && (is_reshaping(*node) || is_identity(side, at));
    const Ref upstream = passes ? side.operand(at, 0) : Ref();
    if (!upstream) return;
    const auto dims = certain_dims(shapes, at);
    const auto dims_upstream = certain_dims(shapes, upstream);
    if (!dims || !dims_upstream || element_count(*dims) != element_count(*dims_upstream)) return;
    (is_first ? look.bypassed : look.nodes_b).push_back(node);
    for (std::size_t i = 1; i < node->inputs().size(); ++i) {
      if (node->input(i) != nullptr) (is_first ? look.constants_a : look.constants_b).push_back(side.operand(at, i));
    }
    at = upstream;
  }
}

/// Compares nodes of the same elementwise operator. On each side, operands must have the dims of the result or be single constants.
Found examine_flat_elements(Sides& sides, const Claim& claim) {
  const Node* const a = claim.a.value->producer();
  const Node* const b = claim.b.value->producer();
  if (a == nullptr || b == nullptr || !same_operator(*a, *b) || !is_elementwise(*a) || !is_elementwise(*b)) return std::nullopt;
  if (a->inputs().size() != b->inputs().size()) return std::nullopt;
  std::vector<Claim> claims;
  std::vector<RefPair> numbers;
  for (std::size_t i = 0; i < a->inputs().size(); ++i) {
    Claim operand{sides.a.operand(claim.a, i), sides.b.operand(claim.b, i), {}, {}, claim.origin_a, claim.origin_b, b};
    if (!operand.a || !operand.b) return std::nullopt;
    const bool are_single = is_single(sides.a, operand.a) && is_single(sides.b, operand.b);
    operand.is_flat = !are_single;
    const bool are_whole = certain_dims(sides.shapes_a, operand.a) == certain_dims(sides.shapes_a, claim.a) &&
                           certain_dims(sides.shapes_b, operand.b) == certain_dims(sides.shapes_b, claim.b);
    if (!are_single && !are_whole) return std::nullopt;
    if (are_single) {
      const auto difference = sides.tensor_difference(operand.a, operand.b);
      if (!difference || difference->values != 0) return std::nullopt;
      numbers.emplace_back(operand.a, operand.b);
    } else {
      claims.push_back(std::move(operand));
    }
  }
  Look look;
  compare_heads(sides, claim, {}, look);
  for (const auto& [of_a, of_b] : numbers) {
    look.constants_a.push_back(of_a);
    look.constants_b.push_back(of_b);
  }
  for (Claim& operand : claims) look.claims.push_back(std::move(operand));
  return look;
}

}  // namespace

bool requests_own_dim(Side& side, Shapes& shapes, Ref reshaped, std::size_t place) {
  const Ref data = side.operand(reshaped, 0);
  const auto dims = shapes.of(data);
  const auto axis = static_cast<int64_t>(place);
  const auto wanted = dims && place < dims->size() ? shapes.dim_in(side.operand(reshaped, 1), axis) : std::nullopt;
  return wanted && *wanted == shapes.origin_of(data, axis);
}

/// Reshapes with different requests, of different operands, or on one side alone, that result in the same dims: the values upstream must
/// have the same elements. Equal requests for operands of the same dims are examined like any other nodes.
Found examine_reshaped(Sides& sides, const Claim& claim) {
  const Node* const a = claim.a.value->producer();
  const Node* const b = claim.b.value->producer();
  const bool any = (a != nullptr && is_reshaping(*a)) || (b != nullptr && is_reshaping(*b));
  if (!any) return std::nullopt;
  const auto dims_a = certain_dims(sides.shapes_a, claim.a);
  const auto dims_b = certain_dims(sides.shapes_b, claim.b);
  if (!dims_a || !dims_b || *dims_a != *dims_b) return std::nullopt;
  if (a != nullptr && b != nullptr && same_operator(*a, *b) && different_attributes(sides.a, claim.a, sides.b, claim.b).empty()) {
    const Ref request_a = sides.a.operand(claim.a, 1);
    const Ref request_b = sides.b.operand(claim.b, 1);
    const auto difference = request_a && request_b ? sides.tensor_difference(request_a, request_b) : std::nullopt;
    const bool same_request = request_a && request_b ? difference && difference->values == 0 : !request_a && !request_b;
    const bool same_operand = sides.shapes_a.of(sides.a.operand(claim.a, 0)) == sides.shapes_b.of(sides.b.operand(claim.b, 0));
    if (same_request && same_operand) return std::nullopt;
  }
  Claim flat = claim;
  flat.is_flat = true;
  flat.origin_a = claim.a;
  flat.origin_b = claim.b;
  Look found;
  pass_reshapes(sides, flat.a, true, found);
  pass_reshapes(sides, flat.b, false, found);
  if (flat.a == claim.a && flat.b == claim.b) return std::nullopt;
  found.add(examine_flat(sides, std::move(flat)));
  return found.issues.empty() ? std::optional(std::move(found)) : std::nullopt;
}

Found examine_two_reshapes(Sides& sides, const Claim& claim) {
  const Node *const a = claim.a.value->producer(), *const b = claim.b.value->producer();
  const bool both = a != nullptr && b != nullptr && is_reshaping(*a) && is_reshaping(*b);
  Found found = both ? examine_reshaped(sides, claim) : std::nullopt;
  if (found) found->starts_anew = true;
  return found;
}

Found examine_requests(Sides& sides, const Claim& claim) {
  if (!claim.b.value->producer()->is("Reshape")) return std::nullopt;
  const Ref of_a = sides.a.operand(claim.a, 1), of_b = sides.b.operand(claim.b, 1);
  const auto request = of_b ? integers_of(sides.b, of_b) : std::nullopt;
  if (!of_a || !request || sides.a.constant(of_a) || std::ranges::count(*request, -1) > 1) return std::nullopt;
  const auto wanted = sides.a.partial_contents(of_a);
  if (!wanted || wanted->values.type() != DataType::int64 || wanted->certain.size() != request->size()) return std::nullopt;
  // With one dim to be found and no other that may be 0, the number of elements decides. A 0 copies a dim of the operand, also beside a
  // dim that the first model finds too.
  const AttributeReader attributes(*claim.b.value->producer(), claim.b.call);
  const bool finds_one =
      !std::ranges::equal(*request, wanted->certain, [](int64_t dim, bool is_certain) { return dim != -1 || is_certain; });
  const bool copies = attributes.integer("allowzero", 0) == 0 && !attributes.is_open() && !finds_one;
  for (std::size_t i = 0; i < request->size(); ++i) {
    const int64_t dim = (*request)[i];
    const bool is_found = dim == -1 && !wanted->certain[i];
    const bool is_copied = dim == 0 && copies && !wanted->certain[i] && requests_own_dim(sides.a, sides.shapes_a, claim.a, i);
    const bool is_equal = (dim > 0 || (dim == -1 && !finds_one)) && wanted->certain[i] && wanted->values.data<int64_t>()[i] == dim;
    if (!is_found && !is_copied && !is_equal) return std::nullopt;
  }
  Look look;
  compare_heads(sides, claim, "allowzero", look);
  if (!look.issues.empty()) return std::nullopt;
  look.constants_b.push_back(of_b);
  if (const Node* const maker = of_a.value->producer()) look.bypassed.push_back(maker);
  look.claims.push_back({sides.a.operand(claim.a, 0), sides.b.operand(claim.b, 0), {}, {}, {}, {}, claim.b.value->producer()});
  return look;
}

Look examine_flat(Sides& sides, Claim claim) {
  Look look;
  for (;;) {
    claim.a = sides.a.resolve(claim.a);
    claim.b = sides.b.resolve(claim.b);
    if (!claim.a || !claim.b) break;
    pass_reshapes(sides, claim.a, true, look);
    pass_reshapes(sides, claim.b, false, look);
    const auto dims_a = certain_dims(sides.shapes_a, claim.a);
    const auto dims_b = certain_dims(sides.shapes_b, claim.b);
    if (!dims_a || !dims_b || element_count(*dims_a) != element_count(*dims_b)) break;
    if (*dims_a == *dims_b) {
      claim.is_flat = false;
      if (claim.is_plain()) claim.origin_a = claim.origin_b = Ref();
      look.claims.push_back(std::move(claim));
      return look;
    }
    auto found = examine_product(sides, claim);
    if (!found && claim.downstream_a.empty() && claim.downstream_b.empty()) found = examine_flat_elements(sides, claim);
    if (found) {
      look.add(std::move(*found));
      return look;
    }
    bool collected = false;
    const auto collect = [&](Side& side, Ref& at, Steps& steps, bool rounded) {
      constexpr std::size_t kMostSteps = 16;
      auto step = steps.size() < kMostSteps ? read_step(side, at, rounded) : std::nullopt;
      if (!step || !is_flat_step(*step)) return;
      at = step->input;
      steps.push_back(std::move(*step));
      collected = true;
    };
    collect(sides.a, claim.a, claim.downstream_a, false);
    collect(sides.b, claim.b, claim.downstream_b, true);
    if (!collected) break;
  }
  look.issues.push_back(issue_of_other_value(sides, {claim.origin_a, claim.origin_b, {}, {}, {}, {}, claim.reader}, *claim.origin_a.value));
  return look;
}

}  // namespace relayout::proof
