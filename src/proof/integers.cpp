// Compares integers of 64 bits in one model with the same numbers in 32 bits in the other, where nothing is computed that could overflow.

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

constexpr TypeSet kWithin{DataType::boolean, DataType::int8, DataType::uint8, DataType::int16, DataType::uint16, DataType::int32};

/// Whether only moves lie between a value and stored constants, inputs and Casts.
bool is_only_moved(Side& side, Ref value) {
  constexpr std::size_t kMostNodes = 64;
  std::vector<Ref> open{value};
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Ref at = open.back();
    open.pop_back();
    const Node* const node = at ? at.value->producer() : nullptr;
    if (node == nullptr || node->is("Cast") || side.stored(at) != nullptr || !seen.insert(node).second) continue;
    if (!node->domain().empty() || !only_moves(*node) || seen.size() > kMostNodes) return false;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (traits_of(*node).moves_input(i)) open.push_back(side.operand(at, i));
    }
  }
  return true;
}

const Node* cast_to(Side& side, Ref value, DataType type) {
  const Node* const node = value.value->producer();
  const bool is_one = node != nullptr && node->is("Cast") && node->input(0) != nullptr && side.type_of(value) == type;
  return is_one ? node : nullptr;
}

Claim claim_of(Ref a, Ref b, const Node* reader, bool as_numbers) {
  Claim out{a, b, {}, {}, {}, {}, reader};
  out.as_numbers = as_numbers;
  return out;
}

Found equal_constants(Sides& sides, const Claim& claim) {
  if (sides.a.stored(claim.a) == nullptr || sides.b.stored(claim.b) == nullptr) return std::nullopt;
  const auto a = sides.a.constant(claim.a), b = sides.b.constant(claim.b);
  if (!a || !b || a->dims != b->dims || a->type != DataType::int64 || b->type != DataType::int32) return std::nullopt;
  const Tensor wide = contiguous(a->load()), narrow = contiguous(b->load());
  const auto count = as_size(wide.element_count());
  if (!std::equal(wide.data<int64_t>(), wide.data<int64_t>() + count, narrow.data<int32_t>())) return std::nullopt;
  Look look;
  look.constants_a.push_back(claim.a);
  look.constants_b.push_back(claim.b);
  return look;
}

/// An input whose callers give 32 bits, where the second model casts it; or a Cast to int64 in the first model of what fits into 32 bits.
Found examine_casts(Sides& sides, const Claim& claim) {
  Look look;
  const Node *const of_b = cast_to(sides.b, claim.b, DataType::int32), *const of_a = cast_to(sides.a, claim.a, DataType::int64);
  const Ref from_b = of_b != nullptr ? sides.b.operand(claim.b, 0) : Ref(), from_a = of_a != nullptr ? sides.a.operand(claim.a, 0) : Ref();
  if (from_b && sides.narrow_inputs.contains(from_b.value)) {
    look.nodes_b.push_back(of_b);
    look.claims.push_back(claim_of(claim.a, from_b, of_b, false));
    return look;
  }
  const DataType type = from_a ? sides.a.type_of(from_a) : DataType::undefined;
  if (type == DataType::int64) {  // no effect
    look.bypassed.push_back(of_a);
    look.claims.push_back(claim_of(from_a, claim.b, claim.reader, true));
    return look;
  }
  if (!kWithin.has(type)) return std::nullopt;
  look.nodes_a.push_back(of_a);
  if (from_b && sides.b.type_of(from_b) == type) {
    look.nodes_b.push_back(of_b);
    look.rewritten.push_back(of_b);
    look.claims.push_back(claim_of(from_a, from_b, of_b, false));
    return look;
  }
  if (type != DataType::int32) return std::nullopt;
  look.bypassed.push_back(of_a);
  look.claims.push_back(claim_of(from_a, claim.b, claim.reader, false));
  return look;
}

}  // namespace

bool takes_numbers(Sides& sides, const Claim& claim, std::size_t operand) {
  const Node &a = *claim.a.value->producer(), &b = *claim.b.value->producer();
  if (!a.domain().empty() || a.op_type() != b.op_type() || !a.subgraphs().empty()) return false;
  const Ref of_a = sides.a.operand(claim.a, operand), of_b = sides.b.operand(claim.b, operand);
  if (!of_a || !of_b || sides.a.type_of(of_a) != DataType::int64 || sides.b.type_of(of_b) != DataType::int32) return false;
  const Traits facts = traits_of(a);
  if (claim.as_numbers) return only_moves(a) && facts.moves_input(operand);
  const bool picks = operand == 1 && facts.has(Trait::indexes) && facts.along() == Along::axis;
  const bool sees = picks || compares(facts.predicate()) || facts.has(Trait::casts) || facts.reads(operand) == Reads::dims;
  return sees && sides.have_one_type(claim.a, claim.b);
}

Found examine_integers(Sides& sides, const Claim& claim) {
  const DataType type_a = sides.a.type_of(claim.a), type_b = sides.b.type_of(claim.b);
  if (type_a != DataType::int64) return std::nullopt;
  if (type_b == DataType::int64) {
    const Node* const cast = cast_to(sides.b, claim.b, DataType::int64);
    const auto comes_from_narrow = [](Side& side, Ref value) { return side.type_of(side.operand(value, 0)) == DataType::int32; };
    if (cast == nullptr || !comes_from_narrow(sides.b, claim.b) || !is_only_moved(sides.b, sides.b.operand(claim.b, 0)))
      return std::nullopt;
    if (cast_to(sides.a, claim.a, DataType::int64) != nullptr && comes_from_narrow(sides.a, claim.a)) return std::nullopt;
    Look look;
    look.nodes_b.push_back(cast);
    look.rewritten.push_back(cast);
    look.claims.push_back(claim_of(claim.a, sides.b.operand(claim.b, 0), cast, true));
    return look;
  }
  if (!claim.as_numbers || type_b != DataType::int32) return std::nullopt;
  if (auto found = equal_constants(sides, claim)) return found;
  if (auto found = examine_casts(sides, claim)) return found;
  const Node *const a = claim.a.value->producer(), *const b = claim.b.value->producer();
  if (a == nullptr || b == nullptr || !same_operator(*a, *b) || !b->domain().empty() || !only_moves(*b)) return std::nullopt;
  Look look;
  compare_heads(sides, claim, {}, look);
  examine_operands(sides, claim, 0, look);
  return look.issues.empty() ? std::optional(std::move(look)) : std::nullopt;
}

}  // namespace relayout::proof
