// Explains Ifs and Loops that only one model has, and choices whose condition is negated.

#include "base/positions.h"
#include "ops/op.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {

// An If of one model alone.
namespace {

/// The values that one made by an If may be: one of each graph, or of one where the file decides; none for other nodes.
std::vector<Ref> branches_of(Side& side, Ref output) {
  std::vector<Ref> out;
  const Node* const node = output.value->producer();
  if (node == nullptr || !node->is("If") || !side.operand(output, 0)) return out;
  const std::optional<bool> decided = side.condition(output);
  for (std::size_t i = 0; i < node->subgraphs().size(); ++i) {
    const bool is_then = node->subgraph_attributes()[i] == "then_branch";
    if (decided && is_then != *decided) continue;
    const auto at = as_size(output.value->output_index());
    const Graph& graph = *node->subgraphs()[i];
    if (at < graph.outputs().size()) out.push_back({graph.outputs()[at], output.call});
  }
  return out;
}

}  // namespace

Ref of_taken_branch(Side& side, Ref output) {
  const std::vector<Ref> found = branches_of(side, output);
  return found.size() == 1 ? found.front() : Ref();
}

Found examine_branches(Sides& sides, const Claim& claim) {
  const std::vector<Ref> of_a = branches_of(sides.a, claim.a), of_b = branches_of(sides.b, claim.b);
  if (of_a.empty() == of_b.empty()) return std::nullopt;
  Look look;
  if (!of_a.empty()) look.bypassed.push_back(claim.a.value->producer());
  if (!of_b.empty()) look.nodes_b.push_back(claim.b.value->producer());
  for (const Ref& value : of_a) look.claims.push_back({value, claim.b, {}, {}, {}, {}, claim.reader});
  // The If itself reads what its graphs give, so that a difference there is told at it.
  for (const Ref& value : of_b) look.claims.push_back({claim.a, value, {}, {}, {}, {}, claim.b.value->producer()});
  return look;
}

// A Loop of one model alone.
namespace {

/// The value that an Unsqueeze of the first dim reads.
Ref unstacked(Side& side, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || !node->is("Unsqueeze") || !node->domain().empty()) return {};
  return written_axes(side, output) == std::optional(std::vector<int64_t>{0}) ? side.operand(output, 0) : Ref();
}

/// Whether a constant has no elements, and the type and dims of the stack of none of a Loop's results that the Loop's graph declares.
bool is_stack_of_none(Side& side_of_loop, Ref output, Side& side, Ref other) {
  const Node* const loop = output.value->producer();
  if (loop == nullptr || side_of_loop.runs(*loop) != std::optional<int64_t>(0)) return false;
  const Graph& body = *loop->subgraph("body");
  const auto at = as_size(output.value->output_index()) + 1;
  const auto given = side.constant(other);
  const auto declared = at >= body.inputs().size() - 1 && at < body.outputs().size() ? body.outputs()[at]->declared() : std::nullopt;
  if (!given || !declared || !declared->has_shape || declared->type != given->type) return false;
  const Dims& dims = given->dims;
  return !dims.empty() && dims[0] == 0 && std::ranges::equal(declared->dims, std::span(dims).subspan(1)) &&
         std::ranges::find(dims, -1) == dims.end();
}

}  // namespace

Found examine_loop(Sides& sides, const Claim& claim) {
  Look look;
  look.next = claim;
  const bool is_of_a = claim.a.value->producer() != nullptr && sides.a.runs(*claim.a.value->producer());
  Side &side = is_of_a ? sides.a : sides.b, &other = is_of_a ? sides.b : sides.a;
  Ref &loop = is_of_a ? look.next->a : look.next->b, &value = is_of_a ? look.next->b : look.next->a;
  const Node* const node = loop.value->producer();
  if (node == nullptr || !side.runs(*node)) return std::nullopt;
  (is_of_a ? look.bypassed : look.nodes_b).push_back(node);
  for (std::size_t i = 0; i < 2; ++i) {
    if (const Ref operand = side.operand(loop, i)) (is_of_a ? look.constants_a : look.constants_b).push_back(operand);
  }
  if (const Ref carried = side.carried_out(loop)) {
    loop = carried;
    return look;
  }
  const Ref stacked = side.stacked_once(loop), part = stacked ? unstacked(other, value) : Ref();
  if (part) {
    (is_of_a ? look.nodes_b : look.bypassed).push_back(value.value->producer());
    loop = stacked;
    value = part;
    return look;
  }
  if (!is_stack_of_none(side, loop, other, value)) return std::nullopt;
  (is_of_a ? look.constants_b : look.constants_a).push_back(value);
  look.next.reset();
  return look;
}

// A choice by the negated condition, whose two results are exchanged.
namespace {

/// What a Where or an If gives where its condition holds, and where not; null where this is no such node.
std::pair<Ref, Ref> chosen_by(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  if (node.is("Where")) return {side.operand(output, 1), side.operand(output, 2)};
  const Graph *const then_branch = node.subgraph("then_branch"), *const else_branch = node.subgraph("else_branch");
  const auto at = as_size(output.value->output_index());
  if (!node.is("If") || then_branch == nullptr || else_branch == nullptr) return {};
  if (at >= std::min(then_branch->outputs().size(), else_branch->outputs().size())) return {};
  return {{then_branch->outputs()[at], output.call}, {else_branch->outputs()[at], output.call}};
}

/// The Not that makes a value; null where another node does.
const Node* negation_of(Ref condition) {
  const Node* const node = condition ? condition.value->producer() : nullptr;
  return node != nullptr && predicate_of(*node) == Predicate::logical_not ? node : nullptr;
}

bool have_one_name(Ref one, Ref other) {
  return one && other && one.value->name() == other.value->name();
}

}  // namespace

Found examine_turned(Sides& sides, const Claim& claim) {
  const Node &a = *claim.a.value->producer(), &b = *claim.b.value->producer();
  if (a.op_type() != b.op_type()) return std::nullopt;
  const auto [a1, a2] = chosen_by(sides.a, claim.a);
  const auto [b1, b2] = chosen_by(sides.b, claim.b);
  Ref condition_a = sides.a.operand(claim.a, 0), condition_b = sides.b.operand(claim.b, 0);
  const Node *const not_a = negation_of(condition_a), *const not_b = negation_of(condition_b);
  if ((not_a == nullptr) == (not_b == nullptr) || !a1 || !a2 || !b1 || !b2) return std::nullopt;
  if (not_a != nullptr) condition_a = sides.a.operand(condition_a, 0);
  if (not_b != nullptr) condition_b = sides.b.operand(condition_b, 0);
  // Names tell which reading to try; the claims prove it.
  const bool is_turned = have_one_name(a1, b2) || have_one_name(a2, b1) || have_one_name(condition_a, condition_b);
  if (!is_turned || have_one_name(a1, b1) || have_one_name(a2, b2)) return std::nullopt;
  Look look;
  look.nodes_a.push_back(&a);
  look.nodes_b.push_back(&b);
  look.rewritten.push_back(&b);
  if (not_a != nullptr) look.bypassed.push_back(not_a);
  if (not_b != nullptr) look.nodes_b.push_back(not_b);
  look.claims.push_back({condition_a, condition_b, {}, {}, {}, {}, &b});
  look.claims.push_back({a1, b2, {}, {}, {}, {}, &b});
  look.claims.push_back({a2, b1, {}, {}, {}, {}, &b});
  return look;
}

}  // namespace relayout::proof
