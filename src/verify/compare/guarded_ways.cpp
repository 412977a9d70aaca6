// Follows the ways upstream from operands that end at a number, over the guards that keep them off it.
#include "verify/compare/guarded_ways.h"

#include <cmath>

#include "model/node.h"
#include "model/walk.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/compare/tried_pieces.h"
#include "verify/run/bounds.h"

namespace relayout {

// The ways from a node up to such an operand, over the constants that keep it off the edge.
namespace {

/// A larger number is no guard, but what a model computes with.
constexpr double kMostGuard = 0.01;

/// The elements of a small constant of numbers; empty for other values.
std::vector<double> numbers_of(const Value& value, Constants& constants) {
  const auto known = constants.value(value);
  return known && kNumericTypes.has(known->type()) ? reals_of(*known) : std::vector<double>();
}

/// Whether all elements of a constant are small numbers of one sign: guards rather than biases.
bool is_like_guard(const Value& value, Constants& constants) {
  const std::vector<double> numbers = numbers_of(value, constants);
  const auto is_above = [](double number) { return number > 0 && number <= kMostGuard; };
  const auto is_below = [](double number) { return number < 0 && number >= -kMostGuard; };
  return !numbers.empty() && (std::ranges::all_of(numbers, is_above) || std::ranges::all_of(numbers, is_below));
}

/// The constant that a node adds to its other operand: the bias of a linear operator; nullptr: none.
const Value* shift_of(const Node& node, Constants& constants) {
  const Arithmetic arithmetic = arithmetic_of(node);
  const bool adds = arithmetic == Arithmetic::add || arithmetic == Arithmetic::subtract;
  if (!adds && !has_trait(node, Trait::linear)) return nullptr;
  for (std::size_t i = adds ? 0 : 2; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && constants.is_constant(*node.input(i))) return node.input(i);
  }
  return nullptr;
}

/// The only operand, from number `first` on, that is no constant; nullptr if there are several.
const Value* sole_varying(const Node& node, std::size_t first, Constants& constants) {
  const Value* found = nullptr;
  for (std::size_t i = first; i < node.inputs().size(); ++i) {
    const Value* const input = node.input(i);
    if (input == nullptr || input == found || constants.is_constant(*input)) continue;
    if (found != nullptr) return nullptr;
    found = input;
  }
  return found;
}

/// Follows single operands upstream.
class WayReader {
 public:
  explicit WayReader(const Model& model) : types_(model.graph(), signatures_), bounds_(model.graph(), {}, {}) {}

  /// Nothing if the node has no edge that an operand may come to.
  [[nodiscard]] std::optional<GuardedWay> read(const Node& node) {
    GuardedWay way;
    way.edge = &node;
    if (const auto epsilon = epsilon_of(node)) {
      if (node.input(0) == nullptr) return std::nullopt;
      way.form = "r";
      if (*epsilon > 0) add(way, *epsilon, node);
      way.values.push_back(node.input(0));
      return way;
    }
    if (node.is("LpNormalization") && node.input(0) != nullptr) {
      way.guards.operator_type = node.op_type();  // a norm of 0 divides nothing
      way.values.push_back(node.input(0));
      return way;
    }
    if (has_trait(node, Trait::normalizes) || !node.domain().empty()) return std::nullopt;
    const Value* const operand = node.input(arithmetic_of(node) == Arithmetic::divide ? 1 : 0);
    const bool is_positive_power = node.is("Pow") && number_of(node.input(1)).value_or(0) >= 1;
    if (operand == nullptr || is_positive_power || constants_.is_constant(*operand) || kIntegerTypes.has(types_.of(*operand))) {
      return std::nullopt;
    }
    if (is_root(node)) way.form = "r";
    follow(*operand, way);
    way.form.erase(way.form.find_last_not_of('r') + 1);  // past all guards
    const Node* const maker = way.values.back()->producer();
    if (maker != nullptr && is_difference_of_means(*maker)) way.difference = maker;
    if (way.guards.numbers.empty() && maker != nullptr) way.guards.operator_type = maker->op_type();
    return way;
  }

 private:
  void follow(const Value& operand, GuardedWay& way) {
    constexpr std::size_t kMostNodes = 16;
    bool has_multiplied = false;
    way.values.push_back(&operand);
    while (way.values.size() <= kMostNodes && way.values.back()->producer() != nullptr) {
      const Node& node = *way.values.back()->producer();
      const bool multiplies = has_trait(node, Trait::multiplies);
      const Value* const next = multiplies && has_multiplied ? nullptr : upstream_of(node);
      if (next == nullptr) break;
      has_multiplied = has_multiplied || multiplies;
      const auto guard = guard_of(node, *next);
      if (is_root(node)) way.form += 'r';
      way.values.push_back(next);
      if (!guard || (!(*guard > 0) && !lowers_slightly(node))) continue;
      add(way, *guard, node);
      if (*guard <= kMostGuard) way.unguarded = way.values.size() - 1;
    }
  }

  /// Whether a node subtracts the square of a mean from a mean of squares: a variance, which rounding may bring below 0.
  [[nodiscard]] bool is_difference_of_means(const Node& node) {
    if (arithmetic_of(node) != Arithmetic::subtract || node.input(0) == nullptr || node.input(1) == nullptr) return false;
    return is_mean_of_squares(node.input(0)) && is_scaled_square(node.input(1));
  }
  [[nodiscard]] bool is_mean_of_squares(const Value* value) {
    bool is_sum = false;
    for (; value != nullptr && value->producer() != nullptr; value = upstream_of(*value->producer())) {
      const Node& node = *value->producer();
      const Reduces reduced = reduces(node);
      if (reduced == Reduces::sum_square) return true;
      if (is_square(node)) return is_sum;
      is_sum = is_sum || has_trait(node, Trait::averages) || reduced == Reduces::mean || reduced == Reduces::sum;
    }
    return false;
  }
  [[nodiscard]] bool is_scaled_square(const Value* value) {
    while (value != nullptr && value->producer() != nullptr && !is_square(*value->producer())) value = upstream_of(*value->producer());
    return value != nullptr && value->producer() != nullptr;
  }
  [[nodiscard]] bool is_square(const Node& node) {
    const bool is_product = arithmetic_of(node) == Arithmetic::multiply && node.input(0) == node.input(1);
    return is_product || (node.is("Pow") && number_of(node.input(1)) == 2);
  }

  [[nodiscard]] bool is_root(const Node& node) {
    const double exponent = node.is("Pow") ? number_of(node.input(1)).value_or(1) : traits_of(node).exponent();
    return std::abs(exponent) < 1;
  }

  static void add(GuardedWay& way, double guard, const Node& node) {
    way.guards.numbers.push_back(guard);
    way.form += limits(node) || node.is("Where") ? 'm' : '+';
    if (way.adds == nullptr) way.adds = &node;
    if (guard > 0) way.least = std::min(way.least, guard);
  }

  /// Whether a node adds a number below 0 of the size of a guard: in the place of one, it counts as another.
  [[nodiscard]] bool lowers_slightly(const Node& node) {
    const Value* const shift = shift_of(node, constants_);
    return shift != nullptr && is_like_guard(*shift, constants_);
  }

  /// The operand that reaches 0 together with a node's result, apart from guards; nullptr: none.
  [[nodiscard]] const Value* upstream_of(const Node& node) {
    constexpr auto kSums = std::to_array({Reduces::sum, Reduces::mean, Reduces::l1, Reduces::l2, Reduces::sum_square});
    constexpr auto kKeepZero = std::to_array({Trait::averages, Trait::casts, Trait::homogeneous, Trait::identity, Trait::pools});
    const Traits traits = traits_of(node);
    const auto has = [&](Trait trait) { return traits.has(trait); };
    const bool keeps_zero = std::ranges::any_of(kKeepZero, has) || traits.moves_input(0);
    if (keeps_zero || traits.exponent() != 1 || std::ranges::find(kSums, traits.reduces()) != kSums.end()) return node.input(0);
    const Arithmetic arithmetic = traits.arithmetic();
    const bool scales = arithmetic == Arithmetic::multiply || arithmetic == Arithmetic::divide || node.is("Pow");
    const bool guards = arithmetic == Arithmetic::add || limits(node) || node.is("Where");
    const bool lowers = arithmetic == Arithmetic::subtract && node.input(1) != nullptr && constants_.is_constant(*node.input(1));
    if (arithmetic == Arithmetic::subtract && headroom_of(node)) return node.input(1);
    const bool multiplies = traits.has(Trait::multiplies) && node.input(0) != nullptr && !constants_.is_constant(*node.input(0));
    return scales || guards || lowers || multiplies ? sole_varying(node, node.is("Where") ? 1 : 0, constants_) : nullptr;
  }

  /// The number that a node adds, takes for smaller ones, or puts in their place; of a linear operator, its bias if that is a guard.
  [[nodiscard]] std::optional<double> guard_of(const Node& node, const Value& varying) {
    if (has_trait(node, Trait::clips))
      return node.opset() < 11 ? std::optional<double>(Attributes(node).real("min")) : number_of(node.input(1));
    const Arithmetic arithmetic = arithmetic_of(node);
    if (const auto headroom = headroom_of(node)) return headroom;
    if (const Value* const shift = shift_of(node, constants_); shift != nullptr && arithmetic != Arithmetic::add) {
      if (!is_like_guard(*shift, constants_)) return std::nullopt;
      const double first = numbers_of(*shift, constants_).front();
      return arithmetic == Arithmetic::subtract ? -first : first;
    }
    if (arithmetic != Arithmetic::add && arithmetic != Arithmetic::maximum && !node.is("Where")) return std::nullopt;
    for (std::size_t i = node.is("Where") ? 1 : 0; i < node.inputs().size(); ++i) {
      if (node.input(i) != nullptr && node.input(i) != &varying) return number_of(node.input(i), arithmetic == Arithmetic::add);
    }
    return std::nullopt;
  }

  /// By how much a constant is above the largest number that is subtracted from it: of 1.0000001 - Sigmoid, 0.0000001. Only if that is a
  /// guard.
  [[nodiscard]] std::optional<double> headroom_of(const Node& node) {
    const Value *const first = node.input(0), *const second = node.input(1);
    const Arithmetic arithmetic = arithmetic_of(node);
    if ((arithmetic != Arithmetic::add && arithmetic != Arithmetic::subtract) || first == nullptr || second == nullptr) return std::nullopt;
    const bool is_first = constants_.is_constant(*first);
    if (is_first == constants_.is_constant(*second) || (!is_first && arithmetic == Arithmetic::subtract)) return std::nullopt;
    const Bounds bounds = bounds_.of(is_first ? *second : *first);
    const double most = arithmetic == Arithmetic::add ? -bounds.lowest : bounds.highest;
    const double headroom = number_of(is_first ? first : second).value_or(0) - most;
    return most > 0 && headroom > 0 && headroom <= kMostGuard ? std::optional(headroom) : std::nullopt;
  }

  [[nodiscard]] static std::optional<double> epsilon_of(const Node& node) {
    constexpr float kDefault = 1e-5F;
    if (has_trait(node, Trait::normalizes) || node.is("RMSNormalization")) return Attributes(node).real("epsilon", kDefault);
    return node.domain().empty() ? std::nullopt : std::optional<double>(Attributes(node).real("epsilon"));
  }

  /// The smallest element of a constant, with `but_zeros` of those that are not 0, if there is one.
  [[nodiscard]] std::optional<double> number_of(const Value* value, bool but_zeros = false) {
    if (value == nullptr) return std::nullopt;
    const std::vector<double> numbers = numbers_of(*value, constants_);
    if (numbers.empty()) return std::nullopt;
    double least = std::numeric_limits<double>::infinity();
    for (const double number : numbers) least = number == 0 && but_zeros ? least : std::min(least, number);
    return std::isinf(least) ? 0 : least;
  }

  OpSignatures signatures_;
  ElementTypes types_;
  ValueBounds bounds_;
  Constants constants_;
};

/// The number of products of matrices between the operand and a value of a way.
std::ptrdiff_t products_until(const GuardedWay& way, std::size_t index) {
  const auto multiplies = [](const Value* value) { return has_trait(*value->producer(), Trait::multiplies); };
  return std::count_if(way.values.begin(), way.values.begin() + static_cast<std::ptrdiff_t>(index), multiplies);
}

/// The index of the first value that may be any number, upstream of all small guards and of at least this many products.
std::optional<std::size_t> base_of(const GuardedWay& way, std::ptrdiff_t products, Constants& constants) {
  for (std::size_t i = way.unguarded; i < way.values.size(); ++i) {
    if (products_until(way, i) < products) continue;
    const Value& value = *way.values[i];
    if (value.is_model_input() || may_be_any_number(value, true, constants)) return i;
  }
  return std::nullopt;
}

/// Whether a model's bias may hold a guard of the other: it has another bias there, next to which the guard keeps half of its bits.
bool holds_guard(const Value* base, const Value* other, double guard, Constants& constants) {
  const auto bias_of = [&](const Value* value) {
    const Value* const shift = value->producer() == nullptr ? nullptr : shift_of(*value->producer(), constants);
    return shift == nullptr ? std::vector<double>() : numbers_of(*shift, constants);
  };
  const std::vector<double> bias = bias_of(base);
  if (bias.empty() || !std::isfinite(guard) || bias == bias_of(other)) return false;
  const double largest = std::ranges::max(bias, {}, [](double number) { return std::abs(number); });
  const DataType type = constants.type_of(*shift_of(*base->producer(), constants));
  return guard >= std::abs(largest) * std::sqrt(unit_roundoff(type));
}

}  // namespace

bool has_edge(const Node& node) {
  const bool divides = arithmetic_of(node) == Arithmetic::divide || has_trait(node, Trait::normalizes) || !node.domain().empty();
  return divides || is_edged(node) || node.is("Pow") || node.is("RMSNormalization") || reduces(node) == Reduces::log_sum_exp;
}

double rough_tolerance(double /*guard*/) noexcept {
  constexpr double kFourthRoot = 1.189207115002721;
  return kFourthRoot - 1;
}

bool Guards::is_like(const Guards& other, const GuardTolerance& tolerance) const {
  const auto is_near = [&](double mine, double theirs) {
    return std::abs(mine - theirs) <= tolerance(mine) * std::min(std::abs(mine), std::abs(theirs));
  };
  return operator_type == other.operator_type && std::ranges::equal(numbers, other.numbers, is_near);
}

GuardedWays::GuardedWays(const Model& model) {
  WayReader reader(model);
  const auto needed = needed_nodes(model.graph());
  // One value may be guarded in each of two branches.
  std::set<std::tuple<const Graph*, const Value*, Guards>> seen;
  for_each_node(model, [&](const Node& node) {
    if (!needed.contains(&node) || !has_edge(node)) return;
    auto way = reader.read(node);
    if (!way) return;
    least_ = std::min(least_, way->least);
    if (way->difference != nullptr) differences_.insert(way->difference);
    const GuardedWay& kept = ways_.emplace(&node, *std::move(way)).first->second;
    if (seen.emplace(&node.graph(), kept.values.back(), kept.guards).second) guarded_.emplace(kept.guards, &kept);
  });
  std::unordered_set<const Node*> passed;
  for (const auto& [edge, way] : ways_) {
    for (const Value* const value : way.values) passed.insert(value->producer());
  }
  std::set<std::tuple<const Graph*, const Value*, std::string>> counted;
  for (const auto& [edge, way] : ways_) {
    if (way.guards.numbers.empty() || passed.contains(edge)) continue;
    if (counted.emplace(&edge->graph(), way.values.back(), way.form).second) forms_.insert(way.form);
  }
}

const GuardedWay* GuardedWays::of(const Node* edge) const {
  const auto found = ways_.find(edge);
  return found == ways_.end() ? nullptr : &found->second;
}

GuardedWays::Guarded::const_iterator GuardedWays::find_alone(const GuardedWays& others, const GuardTolerance& tolerance,
                                                             bool by_numbers) const {
  for (auto at = guarded_.begin(); at != guarded_.end(); at = guarded_.upper_bound(at->first)) {
    const auto is_like = [&](const auto& other) { return at->first.is_like(other.first, tolerance); };
    const bool counts = !by_numbers || !at->first.numbers.empty();
    if (counts && std::ranges::count_if(guarded_, is_like) > std::ranges::count_if(others.guarded_, is_like)) return at;
  }
  return guarded_.end();
}

const Node* GuardedWays::first_alone(const GuardedWays& others, const GuardTolerance& tolerance) const {
  const auto found = find_alone(others, tolerance, false);
  if (found == guarded_.end()) return nullptr;
  return found->second->adds != nullptr ? found->second->adds : found->second->edge;
}

bool GuardedWays::has_other_numbers(const GuardedWays& others, const GuardTolerance& tolerance) const {
  return forms_ != others.forms_ || find_alone(others, tolerance, true) != guarded_.end() ||
         others.find_alone(*this, tolerance, true) != others.guarded_.end();
}

Bases bases_of(const GuardedWay& a, const GuardedWay& b, Constants& constants) {
  auto base_a = base_of(a, 0, constants), base_b = base_of(b, 0, constants);
  if (!base_a || !base_b) return {};
  // Both upstream of the same products, whose biases count.
  const std::ptrdiff_t products = std::max(products_until(a, *base_a), products_until(b, *base_b));
  base_a = base_of(a, products, constants);
  base_b = base_of(b, products, constants);
  if (!base_a || !base_b) return {};
  Bases out{a.values[*base_a], b.values[*base_b], false};
  out.are_held = holds_guard(out.a, out.b, b.least, constants) || holds_guard(out.b, out.a, a.least, constants);
  return out;
}

bool may_be_any_number(const Value& made, bool scaled, Constants& constants) {
  constexpr int kMostNodes = 8;
  const Value* value = &made;
  for (int step = 0; step < kMostNodes; ++step) {
    if (value->producer() == nullptr) return step > 0 && value->is_model_input();
    const Node& node = *value->producer();
    if (has_trait(node, Trait::multiplies)) return true;
    if (!has_trait(node, Trait::affine) || (!scaled && arithmetic_of(node) != Arithmetic::add)) return false;
    const Value* varying = nullptr;
    for (const Value* const input : node.inputs()) {
      if (input == nullptr) continue;
      if (!constants.is_constant(*input)) {
        if (varying != nullptr) return false;
        varying = input;
      } else if (is_like_guard(*input, constants)) {
        return false;
      }
    }
    if (varying == nullptr) return false;
    value = varying;
  }
  return false;
}

}  // namespace relayout
