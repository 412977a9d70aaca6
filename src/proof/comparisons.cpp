// Compares expressions of comparisons of the same two values by the orders for which they hold: less, equal, greater, or none (NaN).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "proof/claim.h"
#include "proof/examine.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Before this version, comparisons broadcast by attributes.
constexpr int kComparing = 7;
constexpr int kMostNested = 8;

/// The orders of two numbers, as bits: the first is less, both are equal, the first is greater, or one is NaN.
using Orders = unsigned;
constexpr Orders kLess = 1, kEqual = 2, kGreater = 4, kNone = 8;

/// A condition on two values of one model: the orders for which it holds.
struct Condition {
  Ref first, second;
  Orders holds = 0, possible = 0;
  std::vector<const Node*> nodes;
};

Orders orders_of(Predicate predicate) {
  switch (predicate) {
    case Predicate::less:
      return kLess;
    case Predicate::less_or_equal:
      return kLess | kEqual;
    case Predicate::greater:
      return kGreater;
    case Predicate::greater_or_equal:
      return kGreater | kEqual;
    default:
      return kEqual;
  }
}

/// The same orders of exchanged values.
Orders exchanged(Orders orders) {
  return (orders & (kEqual | kNone)) | ((orders & kLess) != 0 ? kGreater : 0) | ((orders & kGreater) != 0 ? kLess : 0);
}

std::optional<Condition> comparison_of(Side& side, Ref result, Predicate predicate) {
  Condition out{side.operand(result, 0), side.operand(result, 1), orders_of(predicate), kLess | kEqual | kGreater, {}};
  if (!out.first || !out.second) return std::nullopt;
  const DataType type = side.type_of(out.first);
  if (!kNumericTypes.has(type) || type != side.type_of(out.second)) return std::nullopt;
  if (!kIntegerTypes.has(type)) out.possible |= kNone;
  return out;
}

/// Reads comparisons of one pair of values, and And, Or, Xor and Not of such.
std::optional<Condition> read_condition(Side& side, Ref result, int level) {
  result = side.resolve(result);
  const Node* const node = result ? result.value->producer() : nullptr;
  if (node == nullptr || !node->domain().empty() || node->opset() < kComparing || level > kMostNested) return std::nullopt;
  const Predicate predicate = predicate_of(*node);
  if (predicate == Predicate::none) return std::nullopt;
  std::optional<Condition> out;
  if (compares(predicate)) {
    out = comparison_of(side, result, predicate);
  } else {
    out = read_condition(side, side.operand(result, 0), level + 1);
    if (out && predicate == Predicate::logical_not) {
      out->holds = out->possible & ~out->holds;
    } else if (out) {
      auto other = read_condition(side, side.operand(result, 1), level + 1);
      if (!other) return std::nullopt;
      if (other->first == out->second && other->second == out->first) {
        std::swap(other->first, other->second);
        other->holds = exchanged(other->holds);
      }
      if (other->first != out->first || other->second != out->second) return std::nullopt;
      out->holds = predicate == Predicate::logical_and  ? out->holds & other->holds
                   : predicate == Predicate::logical_or ? out->holds | other->holds
                                                        : out->holds ^ other->holds;
      out->nodes.insert(out->nodes.end(), other->nodes.begin(), other->nodes.end());
    }
  }
  if (out) out->nodes.push_back(node);
  return out;
}

}  // namespace

bool examine_comparison(Sides& sides, const Claim& claim, Look& look) {
  if (!claim.a || !claim.b) return false;
  const auto a = read_condition(sides.a, claim.a, 0), b = a ? read_condition(sides.b, claim.b, 0) : std::nullopt;
  if (!b || a->possible != b->possible || a->holds == 0 || a->holds == a->possible) return false;
  const bool is_straight = a->holds == b->holds;
  const bool has_one_root = predicate_of(*a->nodes.back()) == predicate_of(*b->nodes.back());
  if (is_straight ? has_one_root : a->holds != exchanged(b->holds)) return false;
  const std::array<RefPair, 2> operands{RefPair{a->first, is_straight ? b->first : b->second},
                                        RefPair{a->second, is_straight ? b->second : b->first}};
  for (const auto& [of_a, of_b] : operands) {
    if (!sides.have_one_type(of_a, of_b)) return false;
  }
  for (const auto& [of_a, of_b] : operands) look.claims.push_back({of_a, of_b, {}, {}, {}, {}, b->nodes.back()});
  look.nodes_a.insert(look.nodes_a.end(), a->nodes.begin(), a->nodes.end());
  look.nodes_b.insert(look.nodes_b.end(), b->nodes.begin(), b->nodes.end());
  look.rewritten.push_back(b->nodes.back());
  return true;
}

}  // namespace relayout::proof
