// Compares what constants make of one value: chains of limits that clip it to the same range, conditions that hold for the same integers.
#include <cmath>

#include "ops/bounds.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostLimits = 8;
/// Opsets since which the limits of a Clip are operands, and since which Max and Min broadcast.
constexpr int kClipWithOperands = 11, kBroadcasting = 8;

/// max(lowest, min(highest, operand)), by whichever nodes; lowest ≤ highest.
struct Limits {
  Ref operand;
  double lowest = -kInfinity, highest = kInfinity;
  std::vector<const Node*> nodes;  ///< from the result upstream
  std::vector<Ref> constants;
};

/// A constant number without dims.
std::optional<double> number_of(Side& side, Ref ref) {
  const auto found = ref ? side.constant(ref) : std::nullopt;
  if (!found || !found->dims.empty() || !kNumericTypes.has(found->type)) return std::nullopt;
  const Tensor value = found->load();
  const auto number = value.element_count() == 1 ? load_one<double>(value.type(), value.bytes()) : std::nan("");
  // Doubles do not distinguish larger integers.
  constexpr double kExact = 0x1p53;
  if (std::isnan(number) || (kIntegerTypes.has(found->type) && std::fabs(number) >= kExact)) return std::nullopt;
  return number;
}

/// Reads a chain of Relu, Clip, Max and Min with constant limits.
class LimitReader {
 public:
  explicit LimitReader(Side& side) : side_(side) {}

  [[nodiscard]] Limits read(Ref ref) {
    Limits out;
    for (out.operand = side_.resolve(ref); out.nodes.size() < kMostLimits;) {
      const Ref upstream = step(out);
      if (!upstream) break;
      out.operand = side_.resolve(upstream);
    }
    return out;
  }

 private:
  /// Adds the limits of the node that produces the operand, and returns the value that it limits; empty for any other node.
  [[nodiscard]] Ref step(Limits& out) {
    const Node* const node = out.operand ? out.operand.value->producer() : nullptr;
    if (node == nullptr || !node->domain().empty() || out.operand.value->output_index() != 0) return {};
    constants_.clear();
    std::optional<std::pair<double, double>> ends;
    std::size_t limited = 0;
    if (node->is("Relu")) ends = {0, kInfinity};
    if (node->is("Clip")) ends = ends_of_clip(out.operand, *node);
    if (arithmetic_of(*node) == Arithmetic::maximum || arithmetic_of(*node) == Arithmetic::minimum)
      ends = ends_of_choice(out.operand, *node, limited);
    if (!ends || !(ends->first <= ends->second)) return {};
    // The nodes downstream limit the result of this one.
    out.lowest = std::clamp(ends->first, out.lowest, out.highest);
    out.highest = std::clamp(ends->second, out.lowest, out.highest);
    out.nodes.push_back(node);
    out.constants.insert(out.constants.end(), constants_.begin(), constants_.end());
    return side_.operand(out.operand, limited);
  }

  [[nodiscard]] std::optional<std::pair<double, double>> ends_of_clip(Ref made, const Node& node) {
    if (node.opset() < kClipWithOperands) return std::nullopt;
    std::pair<double, double> ends{-kInfinity, kInfinity};
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      const Ref limit = i < node.inputs().size() ? side_.operand(made, i) : Ref();
      if (!limit) continue;
      const auto known = number(limit);
      if (!known) return std::nullopt;
      (i == 1 ? ends.first : ends.second) = *known;
    }
    return ends;
  }

  [[nodiscard]] std::optional<std::pair<double, double>> ends_of_choice(Ref made, const Node& node, std::size_t& limited) {
    if (node.opset() < kBroadcasting || node.inputs().size() != 2) return std::nullopt;
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      // A constant with dims could enlarge the result.
      const auto known = number(side_.operand(made, i));
      if (!known) continue;
      limited = 1 - i;
      return arithmetic_of(node) == Arithmetic::maximum ? std::pair{*known, kInfinity} : std::pair{-kInfinity, *known};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<double> number(Ref ref) {
    const auto found = number_of(side_, ref);
    if (found) constants_.push_back(ref);
    return found;
  }

  Side& side_;
  std::vector<Ref> constants_;  ///< of the current node
};

}  // namespace

Found examine_limits(Sides& sides, const Claim& claim) {
  const Limits a = LimitReader(sides.a).read(claim.a), b = LimitReader(sides.b).read(claim.b);
  if (a.nodes.empty() || b.nodes.empty() || !a.operand || !b.operand || a.lowest != b.lowest || a.highest != b.highest) return std::nullopt;
  if (!sides.have_one_type(a.operand, b.operand)) return std::nullopt;
  Look look;
  look.account(a, b);
  look.rewritten.push_back(b.nodes.front());
  look.claims.push_back({a.operand, b.operand, {}, {}, {}, {}, b.nodes.back()});
  return look;
}

Found examine_nested_limits(Sides& sides, const Claim& claim) {
  const auto count_of = [](Side& side, Ref ref) { return LimitReader(side).read(ref).nodes.size(); };
  return count_of(sides.a, claim.a) != count_of(sides.b, claim.b) ? examine_limits(sides, claim) : std::nullopt;
}

// Conditions on one integer.
namespace {

/// Before this version, comparisons broadcast by attributes.
constexpr int kComparingIntegers = 7;
constexpr int kMostConditions = 8;

/// Integers, as intervals in ascending order with gaps between them.
using Intervals = std::vector<std::pair<double, double>>;

Intervals complement(const Intervals& of) {
  Intervals out;
  double from = -kInfinity;
  for (const auto& [lowest, highest] : of) {
    if (lowest > from) out.emplace_back(from, lowest - 1);
    from = highest + 1;
  }
  if (from < kInfinity) out.emplace_back(from, kInfinity);
  return out;
}

Intervals united(const Intervals& a, const Intervals& b) {
  Intervals all = a, out;
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  for (const auto& [lowest, highest] : all) {
    if (out.empty() || lowest > out.back().second + 1) {
      out.emplace_back(lowest, highest);
    } else {
      out.back().second = std::max(out.back().second, highest);
    }
  }
  return out;
}

Intervals common(const Intervals& a, const Intervals& b) {
  return complement(united(complement(a), complement(b)));
}

bool has(const Intervals& numbers, double number) {
  return std::ranges::any_of(numbers, [&](const auto& part) { return part.first <= number && number <= part.second; });
}

/// The integers that limits move into `result`.
Intervals before(const Limits& limits, const Intervals& result) {
  Intervals out = common(result, {{limits.lowest + 1, limits.highest - 1}});
  if (limits.highest <= limits.lowest + 1) out.clear();
  if (has(result, limits.lowest)) out = united(out, {{-kInfinity, limits.lowest}});
  if (has(result, limits.highest)) out = united(out, {{limits.highest, kInfinity}});
  return out;
}

/// The integers for which a comparison with a number holds, where the number is its second operand.
Intervals compared_with(double number, Predicate predicate) {
  switch (predicate) {
    case Predicate::less:
      return {{-kInfinity, number - 1}};
    case Predicate::less_or_equal:
      return {{-kInfinity, number}};
    case Predicate::greater:
      return {{number + 1, kInfinity}};
    case Predicate::greater_or_equal:
      return {{number, kInfinity}};
    default:
      return {{number, number}};
  }
}

/// A condition on one value: the integers for which it holds.
struct Selected {
  Ref operand;
  Intervals numbers;
  std::vector<const Node*> nodes;  ///< the last is the condition's own
  std::vector<Ref> constants;
};

/// The value of the same integers upstream of Casts to types that hold them all.
Ref before_casts(Side& side, Ref ref, std::vector<const Node*>& nodes) {
  for (;;) {
    ref = side.resolve(ref);
    const Node* const node = ref ? ref.value->producer() : nullptr;
    if (node == nullptr || !node->is("Cast")) return ref;
    const Ref operand = side.operand(ref, 0);
    const DataType from = operand ? side.type_of(operand) : DataType::undefined, to = side.type_of(ref);
    if (!kIntegerTypes.has(from) || !kIntegerTypes.has(to)) return ref;
    const Bounds held = bounds_of_type(to), given = bounds_of_type(from);
    if (given.lowest < held.lowest || given.highest > held.highest) return ref;
    nodes.push_back(node);
    ref = operand;
  }
}

std::optional<Selected> integer_comparison_of(Side& side, Ref result, Predicate predicate) {
  for (const std::size_t place : {std::size_t{1}, std::size_t{0}}) {
    const Ref varying = side.operand(result, 1 - place), constant = side.operand(result, place);
    const auto number = number_of(side, constant);
    if (!varying || !number || !kIntegerTypes.has(side.type_of(varying))) continue;
    Selected out{{}, compared_with(*number, place == 1 ? predicate : mirrored(predicate)), {}, {constant}};
    const Limits limits = LimitReader(side).read(before_casts(side, varying, out.nodes));
    out.nodes.insert(out.nodes.end(), limits.nodes.begin(), limits.nodes.end());
    out.constants.insert(out.constants.end(), limits.constants.begin(), limits.constants.end());
    out.operand = before_casts(side, limits.operand, out.nodes);
    out.numbers = before(limits, out.numbers);
    return out;
  }
  return std::nullopt;
}

/// Reads comparisons of one value with constants, and And, Or, Xor and Not of such.
std::optional<Selected> read_selected(Side& side, Ref result, int level) {
  result = side.resolve(result);
  const Node* const node = result ? result.value->producer() : nullptr;
  if (node == nullptr || !node->domain().empty() || node->opset() < kComparingIntegers || level > kMostConditions) return std::nullopt;
  const Predicate predicate = predicate_of(*node);
  if (predicate == Predicate::none) return std::nullopt;
  auto out = compares(predicate) ? integer_comparison_of(side, result, predicate) : read_selected(side, side.operand(result, 0), level + 1);
  if (!out) return std::nullopt;
  if (predicate == Predicate::logical_not) {
    out->numbers = complement(out->numbers);
  } else if (!compares(predicate)) {
    auto other = read_selected(side, side.operand(result, 1), level + 1);
    if (!other || other->operand != out->operand) return std::nullopt;
    const Intervals either = united(out->numbers, other->numbers), both = common(out->numbers, other->numbers);
    out->numbers = predicate == Predicate::logical_and  ? both
                   : predicate == Predicate::logical_or ? either
                                                        : common(either, complement(both));
    out->nodes.insert(out->nodes.end(), other->nodes.begin(), other->nodes.end());
    out->constants.insert(out->constants.end(), other->constants.begin(), other->constants.end());
  }
  out->nodes.push_back(node);
  return out;
}

}  // namespace

Found examine_selected(Sides& sides, const Claim& claim) {
  const auto a = read_selected(sides.a, claim.a, 0), b = a ? read_selected(sides.b, claim.b, 0) : std::nullopt;
  if (!b || a->numbers != b->numbers || !sides.have_one_type(a->operand, b->operand)) return std::nullopt;
  Look look;
  look.account(*a, *b);
  look.rewritten.push_back(b->nodes.back());
  look.claims.push_back({a->operand, b->operand, {}, {}, {}, {}, b->nodes.back()});
  return look;
}

}  // namespace relayout::proof
