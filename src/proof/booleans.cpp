// Compares boolean expressions by their truth tables, and comparisons of the same two values by the orders for which they hold.

#include <cmath>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Truth table: bit i is the value of an expression if operand k has the value of bit k of i.
using Truth = uint64_t;
constexpr std::size_t kMostOperands = 6;
constexpr int kMostNodes = 64;
constexpr std::array<Truth, kMostOperands> kOperands = {0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
                                                        0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000};

/// An expression of boolean values in one model.
struct Expression {
  Ref result;
  std::vector<Ref> operands;
  std::vector<const Node*> nodes;
  std::vector<Ref> constants;
};

/// Reads one side's expressions of And, Or, Xor, Not, Equal and Where of booleans.
class ExpressionReader {
 public:
  /// Values with the name of a computed value of `other` are operands, except the value that is read; nullptr: none.
  ExpressionReader(Side& side, const Graph* other) : side_(side), other_(other) {}

  [[nodiscard]] std::optional<Expression> read(Ref ref) {
    out_.result = side_.resolve(ref);
    if (!out_.result || side_.type_of(out_.result) != DataType::boolean || !walk(out_.result)) return std::nullopt;
    return out_;
  }

  /// The truth table of a value of the expression; operand k is `operands[k]`.
  [[nodiscard]] Truth truth_of(Ref ref, const std::vector<Ref>& operands) {
    ref = side_.resolve(ref);
    const auto known = truths_.find(ref);
    return known != truths_.end() ? known->second : truths_.emplace(ref, compute(ref, operands)).first->second;
  }

 private:
  [[nodiscard]] Truth compute(Ref ref, const std::vector<Ref>& operands) {
    const auto found = std::ranges::find(operands, ref);
    if (found != operands.end()) return kOperands[as_size(found - operands.begin())];
    if (const auto known = constant(ref)) return *known ? ~Truth{0} : Truth{0};
    const Node& node = *ref.value->producer();
    const auto operand = [&](std::size_t i) { return truth_of(side_.operand(ref, i), operands); };
    switch (predicate_of(node)) {
      case Predicate::logical_not:
        return ~operand(0);
      case Predicate::logical_and:
        return operand(0) & operand(1);
      case Predicate::logical_or:
        return operand(0) | operand(1);
      case Predicate::logical_xor:
        return operand(0) ^ operand(1);
      case Predicate::equal:
        return ~(operand(0) ^ operand(1));
      default:
        return node.is("Where") ? (operand(0) & operand(1)) | (~operand(0) & operand(2)) : operand(0);
    }
  }

  /// The value of a constant boolean without dims. Dims could enlarge the result.
  [[nodiscard]] std::optional<bool> constant(Ref ref) {
    const auto found = side_.constant(ref);
    if (!found || found->type != DataType::boolean || !found->dims.empty()) return std::nullopt;
    return *found->load().bytes() != std::byte{0};
  }

  [[nodiscard]] bool is_expression(Ref ref) {
    const Node* const node = ref.value->producer();
    // Before opset 7, operands were broadcast by attributes.
    if (node == nullptr || !node->domain().empty() || node->opset() < 7 || ref.value->output_index() != 0) return false;
    const Predicate predicate = predicate_of(*node);
    if (predicate >= Predicate::logical_and || is_identity(side_, ref)) return true;
    if (predicate != Predicate::equal && !node->is("Where")) return false;
    const Ref last = side_.operand(ref, 1);
    return last && side_.type_of(last) == DataType::boolean;
  }

  [[nodiscard]] bool is_operand(Ref ref) {
    if (!is_expression(ref) || std::ssize(out_.nodes) > kMostNodes) return true;
    if (other_ == nullptr || ref == out_.result || ref.call != nullptr) return false;
    const Value* const namesake = other_->find(ref.value->name());
    return namesake != nullptr && namesake->producer() != nullptr;
  }

  [[nodiscard]] bool walk(Ref ref) {
    ref = side_.resolve(ref);
    if (!ref) return false;
    if (constant(ref)) {
      out_.constants.push_back(ref);
      return true;
    }
    if (is_operand(ref)) {
      if (std::ranges::find(out_.operands, ref) == out_.operands.end()) out_.operands.push_back(ref);
      return out_.operands.size() <= kMostOperands;
    }
    const Node& node = *ref.value->producer();
    if (std::ranges::find(out_.nodes, &node) != out_.nodes.end()) return true;
    out_.nodes.push_back(&node);
    const std::size_t count = is_identity(side_, ref) ? 1 : node.inputs().size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!walk(side_.operand(ref, i))) return false;
    }
    return true;
  }

  Side& side_;
  const Graph* other_;
  Expression out_;
  std::unordered_map<Ref, Truth, RefHash> truths_;
};

/// Whether an operand of one model is surely one of the other: the same constant, input or name.
bool may_be_same(Sides& sides, Ref a, Ref b) {
  const auto of_a = sides.a.constant(a), of_b = sides.b.constant(b);
  if (of_a || of_b) {
    const auto found = sides.tensor_difference(a, b);
    return found && found->values == 0;
  }
  const Node *const node_a = a.value->producer(), *const node_b = b.value->producer();
  if (node_a == nullptr || node_b == nullptr) return node_a == node_b && sides.same_input(*a.value, *b.value);
  return a.value->name() == b.value->name();
}

/// The operands of b in the order of a's: first those that are surely the same, then those with the same operator.
std::optional<std::vector<Ref>> paired(Sides& sides, const std::vector<Ref>& of_a, std::vector<Ref> of_b) {
  if (of_a.size() != of_b.size()) return std::nullopt;
  std::vector<Ref> out(of_a.size());
  const auto pair_where = [&](const auto& is_pair) {
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      const auto found = out[i] ? of_b.end() : std::ranges::find_if(of_b, [&](Ref b) { return is_pair(of_a[i], b); });
      if (found == of_b.end()) continue;
      out[i] = *found;
      of_b.erase(found);
    }
  };
  pair_where([&](Ref a, Ref b) { return may_be_same(sides, a, b); });
  pair_where([](Ref a, Ref b) {
    const Node *const node_a = a.value->producer(), *const node_b = b.value->producer();
    return node_a != nullptr && node_b != nullptr && same_operator(*node_a, *node_b);
  });
  return of_b.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

Found examine_booleans(Sides& sides, const Claim& claim) {
  for (const bool by_name : {true, false}) {
    ExpressionReader reader_a(sides.a, by_name ? &sides.b.model().graph() : nullptr);
    ExpressionReader reader_b(sides.b, by_name ? &sides.a.model().graph() : nullptr);
    const auto a = reader_a.read(claim.a), b = a ? reader_b.read(claim.b) : std::nullopt;
    // With fewer than two nodes in all, there are no two spellings to compare.
    if (!b || a->nodes.size() + b->nodes.size() < 2 || a->operands.empty()) continue;
    const auto operands = paired(sides, a->operands, b->operands);
    if (!operands || reader_a.truth_of(a->result, a->operands) != reader_b.truth_of(b->result, *operands)) continue;
    Look look;
    look.account(*a, *b);
    if (!b->nodes.empty()) look.rewritten.push_back(b->nodes.front());
    for (std::size_t i = 0; i < operands->size(); ++i) {
      look.claims.push_back({a->operands[i], (*operands)[i], {}, {}, {}, {}, b->nodes.empty() ? claim.reader : b->nodes.front()});
    }
    return look;
  }
  return std::nullopt;
}

// Comparisons of the same two values.
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

bool is_finite_constant(Side& side, Ref value) {
  constexpr int64_t kMostElements = 1 << 16;
  const auto numbers = reals_of(side, value, kMostElements);
  return numbers && std::ranges::all_of(*numbers, [](double number) { return std::isfinite(number); });
}

/// A difference that is cast to boolean: true where its numbers are unequal, or one is NaN. Both infinite, they are equal and have no
/// difference.
std::optional<Condition> difference_of(Side& side, Ref result) {
  const Ref sub = side.resolve(side.operand(result, 0));
  const Node* const node = sub ? sub.value->producer() : nullptr;
  if (node == nullptr || arithmetic_of(*node) != Arithmetic::subtract || node->opset() < kComparing) return std::nullopt;
  std::optional<Condition> out = comparison_of(side, sub, Predicate::equal);
  if (!out) return std::nullopt;
  const bool may_be_infinite = (out->possible & kNone) != 0;
  if (may_be_infinite && !is_finite_constant(side, out->first) && !is_finite_constant(side, out->second)) return std::nullopt;
  out->holds = out->possible & ~kEqual;
  out->nodes.push_back(node);
  return out;
}

/// Reads comparisons of one pair of values, and And, Or, Xor and Not of such.
std::optional<Condition> read_condition(Side& side, Ref result, int level) {
  result = side.resolve(result);
  const Node* const node = result ? result.value->producer() : nullptr;
  if (node == nullptr || !node->domain().empty() || node->opset() < kComparing || level > kMostNested) return std::nullopt;
  const Predicate predicate = predicate_of(*node);
  const bool is_difference = node->is("Cast") && side.type_of(result) == DataType::boolean;
  if (predicate == Predicate::none && !is_difference) return std::nullopt;
  std::optional<Condition> out;
  if (is_difference) {
    out = difference_of(side, result);
  } else if (compares(predicate)) {
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

Found examine_comparison(Sides& sides, const Claim& claim) {
  const auto a = read_condition(sides.a, claim.a, 0), b = a ? read_condition(sides.b, claim.b, 0) : std::nullopt;
  if (!b || a->possible != b->possible || a->holds == 0 || a->holds == a->possible) return std::nullopt;
  const auto may_be_one = [&](Ref of_a, Ref of_b) { return may_be_same(sides, of_a, of_b); };
  const bool is_straight = a->holds == b->holds && !(a->holds == exchanged(b->holds) && may_be_one(a->first, b->second));
  const bool has_one_root = predicate_of(*a->nodes.back()) == predicate_of(*b->nodes.back());
  if (is_straight ? has_one_root : a->holds != exchanged(b->holds)) return std::nullopt;
  const std::array<RefPair, 2> operands{RefPair{a->first, is_straight ? b->first : b->second},
                                        RefPair{a->second, is_straight ? b->second : b->first}};
  for (const auto& [of_a, of_b] : operands) {
    if (!sides.have_one_type(of_a, of_b)) return std::nullopt;
  }
  Look look;
  for (const auto& [of_a, of_b] : operands) look.claims.push_back({of_a, of_b, {}, {}, {}, {}, b->nodes.back()});
  look.nodes_a.insert(look.nodes_a.end(), a->nodes.begin(), a->nodes.end());
  look.nodes_b.insert(look.nodes_b.end(), b->nodes.begin(), b->nodes.end());
  look.rewritten.push_back(b->nodes.back());
  return look;
}

}  // namespace relayout::proof
