// Finds numbers that keep an operand away from the edge of a domain and that one model alone has, or that its type does not hold.
#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/attributes.h"
#include "model/needed.h"
#include "model/node_name.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_signature.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/doubts/extreme_runs.h"
#include "verify/elements.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {
namespace {

/// What keeps an operand from the edge of a node's domain: numbers, as powers of the root of 2, since rounding to a narrow type changes
/// them a little; without one, the operator that computes the operand.
struct Guards {
  std::vector<int> numbers;
  std::string operator_type;
  auto operator<=>(const Guards&) const = default;
};

/// Each guarded operand of a model once, with the node that adds the guard or, without one, the node that has the edge.
using GuardedNodes = std::multimap<Guards, const Node*>;

/// Follows the operands of nodes with an edge upstream.
class GuardReader {
 public:
  explicit GuardReader(const Model& model) : types_(model.graph(), signatures_) {
    const auto needed = needed_nodes(model.graph());
    for_each_node(model, [&](const Node& node) {
      if (needed.contains(&node) && has_edge(node)) read(node);
    });
  }

  [[nodiscard]] const GuardedNodes& nodes() const noexcept { return nodes_; }
  /// The smallest guard; infinite: none.
  [[nodiscard]] double least() const noexcept { return least_; }

 private:
  /// A guarded operand: the value upstream of guards and of nodes that keep 0, or that come to their edge with it.
  struct Way {
    const Value* base = nullptr;
    Guards guards;
    const Node* adds = nullptr;
  };

  void read(const Node& node) {
    if (const auto epsilon = epsilon_of(node)) {
      Way way;
      add(way, *epsilon, node);
      way.base = node.input(0);
      return way.base == nullptr ? void() : note(way, node);
    }
    if (has_trait(node, Trait::normalizes) || !node.domain().empty()) return;
    const Value* const operand = node.input(arithmetic_of(node) == Arithmetic::divide ? 1 : 0);
    const bool is_positive_power = node.is("Pow") && number_of(node.input(1)).value_or(0) >= 1;
    if (operand == nullptr || is_positive_power || constants_.is_constant(*operand) || kIntegerTypes.has(types_.of(*operand))) return;
    Way way = follow(*operand);
    note(way, node);
  }

  void note(Way& way, const Node& node) {
    if (way.guards.numbers.empty() && way.base->producer() != nullptr) way.guards.operator_type = way.base->producer()->op_type();
    if (seen_.emplace(way.base, way.guards).second) nodes_.emplace(way.guards, way.adds != nullptr ? way.adds : &node);
  }

  [[nodiscard]] Way follow(const Value& operand) {
    constexpr int kMostNodes = 16;
    Way way;
    way.base = &operand;
    for (int step = 0; step < kMostNodes && way.base->producer() != nullptr; ++step) {
      const Node& node = *way.base->producer();
      const Value* const next = upstream_of(node);
      if (next == nullptr) break;
      if (const auto guard = guard_of(node, *next); guard && *guard > 0) add(way, *guard, node);
      way.base = next;
    }
    return way;
  }

  void add(Way& way, double guard, const Node& node) {
    if (!(guard > 0)) return;
    way.guards.numbers.push_back(static_cast<int>(std::lround(2 * std::log2(guard))));
    if (way.adds == nullptr) way.adds = &node;
    least_ = std::min(least_, guard);
  }

  /// The operand that reaches 0 together with a node's result, apart from guards; nullptr: none.
  [[nodiscard]] const Value* upstream_of(const Node& node) {
    constexpr auto kUnary =
        std::to_array<std::string_view>({"Sqrt", "Abs", "Neg", "Reciprocal", "Expand", "Tile", "ReduceSum", "ReduceMean"});
    const Traits traits = traits_of(node);
    const bool is_unary = std::ranges::any_of(kUnary, [&](std::string_view op) { return node.is(op); });
    if (is_unary || traits.has(Trait::casts) || traits.has(Trait::identity) || traits.moves_input(0)) return node.input(0);
    const Arithmetic arithmetic = traits.arithmetic();
    const bool scales = arithmetic == Arithmetic::multiply || arithmetic == Arithmetic::divide || node.is("Pow");
    const bool guards = arithmetic == Arithmetic::add || limits(node) || node.is("Where");
    return scales || guards ? sole_varying(node) : nullptr;
  }

  /// The only operand that is no constant; the condition of a Where does not count.
  [[nodiscard]] const Value* sole_varying(const Node& node) {
    const Value* found = nullptr;
    for (std::size_t i = node.is("Where") ? 1 : 0; i < node.inputs().size(); ++i) {
      if (node.input(i) == nullptr || constants_.is_constant(*node.input(i))) continue;
      if (found != nullptr) return nullptr;
      found = node.input(i);
    }
    return found;
  }

  /// The number that a node adds, takes for smaller ones, or puts in their place.
  [[nodiscard]] std::optional<double> guard_of(const Node& node, const Value& varying) {
    if (node.is("Clip")) return node.opset() < 11 ? std::optional<double>(Attributes(node).real("min")) : number_of(node.input(1));
    const Arithmetic arithmetic = arithmetic_of(node);
    if (arithmetic != Arithmetic::add && arithmetic != Arithmetic::maximum && !node.is("Where")) return std::nullopt;
    for (std::size_t i = node.is("Where") ? 1 : 0; i < node.inputs().size(); ++i) {
      if (node.input(i) != nullptr && node.input(i) != &varying) return number_of(node.input(i), arithmetic == Arithmetic::add);
    }
    return std::nullopt;
  }

  [[nodiscard]] static std::optional<double> epsilon_of(const Node& node) {
    constexpr float kDefault = 1e-5F;
    if (has_trait(node, Trait::normalizes) || node.is("RMSNormalization")) return Attributes(node).real("epsilon", kDefault);
    return node.domain().empty() ? std::nullopt : std::optional<double>(Attributes(node).real("epsilon"));
  }

  /// The smallest element of a constant, with `but_zeros` of those that are not 0, if there is one.
  [[nodiscard]] std::optional<double> number_of(const Value* value, bool but_zeros = false) {
    const auto known = value == nullptr ? std::nullopt : constants_.value(*value);
    if (!known || !kNumericTypes.has(known->type()) || known->element_count() == 0) return std::nullopt;
    double least = std::numeric_limits<double>::infinity();
    for_each_chunk(contiguous(*known), [&](int64_t, std::span<const double> numbers) {
      for (const double number : numbers) least = number == 0 && but_zeros ? least : std::min(least, number);
    });
    return std::isinf(least) ? 0 : least;
  }

  OpSignatures signatures_;
  ElementTypes types_;
  Constants constants_;
  std::set<std::pair<const Value*, Guards>> seen_;
  GuardedNodes nodes_;
  double least_ = std::numeric_limits<double>::infinity();
};

/// A node whose guards no node of the other model has; nullptr: none.
const Node* first_alone(const GuardedNodes& nodes, const GuardedNodes& others) {
  for (auto at = nodes.begin(); at != nodes.end(); at = nodes.upper_bound(at->first)) {
    if (nodes.count(at->first) > others.count(at->first)) return at->second;
  }
  return nullptr;
}

/// Whether 1 / guard exceeds the largest number of float16.
bool may_overflow_narrow(double guard) {
  constexpr double kMost = 65504;
  return guard * kMost < 1;
}

const char* words_of(Extreme extreme) {
  constexpr std::array kWords{"zeros", "equal numbers", "numbers far apart", "numbers far below 0"};
  return kWords[static_cast<std::size_t>(extreme)];
}

std::string describe(const FiniteMismatch& found, Extreme extreme, const Node* guard, const Pair& pair) {
  const std::string maker_side = found.is_of_a ? "A" : "B", other_side = found.is_of_a ? "B" : "A";
  const std::string by = guard == nullptr ? "" : " (by node " + guard->label() + ")";
  return "node " + found.maker->label() + " of " + maker_side + ": fed " + words_of(extreme) +
         ", its results are infinite or NaN, those of " + other_side + " are not" + by + ", and no sample holds such numbers" +
         (pair.proved ? "; the proof leaves this open" : "") + " (--input gives your own)";
}

}  // namespace

std::optional<Doubt> find_lost_guard(const Pair& pair, const Reference& reference, const VerifyResult&) {
  const GuardReader a(*pair.a.model), b(*pair.b.model);
  const Node *const of_a = first_alone(a.nodes(), b.nodes()), *const of_b = first_alone(b.nodes(), a.nodes());
  const bool is_other = of_a != nullptr || of_b != nullptr;
  const bool may_overflow = pair.grain == DataType::float16 && may_overflow_narrow(b.least());
  if (!is_other && !may_overflow) return std::nullopt;
  for (const Extreme extreme : {Extreme::zeros, Extreme::equal, Extreme::apart, Extreme::low}) {
    if (!is_other && extreme > Extreme::equal) break;
    const auto found = compare_finite(pair, reference, extreme, has_edge);
    if (!found) continue;
    return Doubt{reported_name(*found->maker), describe(*found, extreme, found->is_of_a ? of_b : of_a, pair)};
  }
  return std::nullopt;
}

}  // namespace relayout
