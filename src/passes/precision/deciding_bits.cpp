// Finds the nodes whose lowest bits decide a later result, so that they keep 32 bits.

#include <set>
#include <tuple>

#include "base/positions.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "passes/pass.h"
#include "passes/precision/magnitudes.h"
#include "passes/precision/precision_plan.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr std::string_view kSpectrum = "the logarithm downstream tells small numbers apart, which 16 bits lose";
constexpr std::string_view kReciprocal = "the division downstream tells small powers apart, which 16 bits lose";
constexpr std::string_view kRatio = "the ratio to a power downstream tells small numbers apart, which 16 bits lose";
constexpr std::string_view kDifference = "a difference of close numbers is left with the errors of both";
constexpr std::string_view kSquares = "squares that are summed leave the range";
constexpr std::string_view kGuard = "what keeps it off 0 vanishes in 16 bits, or its reciprocal leaves the range";

/// Nodes on one way: what matters stands close by.
constexpr int kFarthest = 40;
/// Nodes of a sum of squares.
constexpr std::size_t kMostSquares = 64;
/// Elements of a weight that is read for the signs of its numbers.
constexpr int64_t kSmallWeight = int64_t{1} << 20;

using Kept = std::unordered_map<const Node*, std::string_view>;
using Path = std::vector<const Node*>;

class Finder {
 public:
  Finder(PassContext& context, DataType target, Kept& kept) : context_(context), target_(target), kept_(kept) {}

  void look_at(const Node& node) {
    if (!node.domain().empty()) return;
    if (traits_of(node).weakness(0) == Weakness::logarithm) climb(node.input(0), {}, 0);
    if (is_root(node)) find_difference_under(node);
    if (is_square(node) && arithmetic_of(node) == Arithmetic::multiply && is_summed(*node.output(0), 0)) keep({&node}, kSquares);
    find_power(node);
    find_divisor(node);
    find_difference(node);
    find_ratio(node);
    if (const auto least = guard_of(node)) follow_guard(*node.output(0), *least, {&node}, 0);
  }

 private:
  /// A part of the computation that another finder looks at, whose nodes are kept for a reason of its own.
  Finder(const Finder& other, Kept& kept, std::string_view why)
      : context_(other.context_), target_(other.target_), kept_(kept), why_(why) {}

  [[nodiscard]] bool is_run_time(const Value* value) const { return value != nullptr && !context_.constants.is_constant(*value); }

  void keep(const Path& path, std::string_view why) {
    for (const Node* const node : path) kept_.emplace(node, why);
  }

  /// The only number of a constant.
  std::optional<double> number(const Value* value) {
    if (value == nullptr) return std::nullopt;
    const auto found = context_.constants.find(*value);
    const auto* const constant = std::get_if<Constant>(&found);
    if (constant == nullptr || !is_scalable(constant->type) || element_count(constant->dims) != 1) return std::nullopt;
    return reals_of(constant->load())[0];
  }

  // --- Logarithms ---------------------------------------------------------------------------------------------------------------------

  /// The part of a spectrum's computation that a walk upstream from a logarithm has passed.
  struct Passed {
    int products = 0;  ///< before a square was met: filter banks
    bool is_squared = false;
    int transforms = 0;     ///< after it
    bool is_mixed = false;  ///< by a product with negative weights before it
    [[nodiscard]] auto key() const { return std::tuple(products, is_squared, transforms, is_mixed); }
  };

  /// A square, or a magnitude.
  static bool is_square(const Node& node) {
    if (arithmetic_of(node) == Arithmetic::multiply) return node.inputs().size() == 2 && node.input(0) == node.input(1);
    const Reduces reduced = reduces(node);
    const Invertible* const function = inverse_of(node);
    const bool is_even = function != nullptr && function->is_even;
    return node.is("Pow") || is_even || reduced == Reduces::l1 || reduced == Reduces::l2 || reduced == Reduces::sum_square;
  }

  static bool is_root(const Node& node) { return traits_of(node).exponent() == 0.5; }
  /// The power to which a node raises input 0; 1 where a Pow does not tell.
  std::optional<double> exponent_of(const Node& node) {
    if (node.is("Pow")) return number(node.input(1)).value_or(1);
    const double exponent = traits_of(node).exponent();
    return exponent != 1 ? std::optional(exponent) : std::nullopt;
  }

  /// A sum or a mean over axes.
  static bool adds_up(const Node& node) { return reduces(node) == Reduces::sum || reduces(node) == Reduces::mean; }

  /// Whether relative errors of a result are those of input `input`, or the sum of several.
  static bool passes_levels(const Node& node, std::size_t input) {
    const Traits facts = traits_of(node);
    if (facts.moves_input(input) || facts.arithmetic() != Arithmetic::none) return true;
    return input == 0 &&
           (facts.has(Trait::casts) || facts.has(Trait::clips) || facts.has(Trait::homogeneous) || facts.has(Trait::averages) ||
            facts.has(Trait::pools) || node.is("Pow") || is_root(node) || facts.reduces() != Reduces::none);
  }

  /// Keeps what computes the operand of a logarithm: always up to a product (a filter bank with it), and further if that leads to a
  /// spectrum. Returns whether it does.
  bool climb(const Value* value, Passed passed, int steps) {
    if (!is_run_time(value) || value->producer() == nullptr || steps > kFarthest) {
      return passed.is_squared || (takes_inputs_ && !passed.is_mixed && value != nullptr && value->is_model_input());
    }
    const Node& node = *value->producer();
    if (!node.domain().empty() || !node.subgraphs().empty()) return false;
    if (!climbed_.insert({&node, passed.key()}).second) return passed.is_squared;
    const bool multiplies = has_trait(node, Trait::multiplies);
    const bool is_transform = node.is("STFT") || node.is("DFT");
    if (multiplies && !passed.is_squared && ++passed.products > most_products_) return false;
    passed.is_mixed = passed.is_mixed || (takes_inputs_ && multiplies && !passed.is_squared && !is_mean(node));
    const bool is_certain = passed.products == 0 || passed.is_squared || (multiplies && is_mean(node));
    if ((multiplies || is_transform) && passed.is_squared && ++passed.transforms > 2) return false;
    const bool goes_on = multiplies || is_transform || passes_levels(node, 0);
    if (!goes_on && !has_trait(node, Trait::elementwise)) return false;
    if (!goes_on && passed.is_squared) return false;
    passed.is_squared = passed.is_squared || is_square(node);
    bool leads_there = passed.is_squared && is_certain;
    for (std::size_t i = 0; goes_on && i < node.inputs().size(); ++i) {
      if (multiplies ? i < 2 : is_transform ? i == 0 : passes_levels(node, i))
        leads_there = climb(node.input(i), passed, steps + 1) || leads_there;
    }
    if (is_certain || leads_there) keep({&node}, why_);
    return leads_there;
  }

  // --- Ratios -------------------------------------------------------------------------------------------------------------------------

  /// The power with a broken exponent, or with `below_zero` a negative one, that computes a value; nullptr: none. Roots belong to
  /// normalizations.
  const Node* broken_power(const Value* value, bool below_zero) {
    Path path;
    const Node* const node = is_run_time(value) ? unscaled(value, path) : nullptr;
    if (node == nullptr || !node->is("Pow") || node->input(1) == nullptr) return nullptr;
    const auto found = context_.constants.find(*node->input(1));
    const auto* const constant = std::get_if<Constant>(&found);
    if (constant == nullptr || !is_scalable(constant->type) || element_count(constant->dims) > kSmallWeight) return nullptr;
    const auto is_broken = [&](double number) { return 2 * number != std::floor(2 * number) && (number < 0 || !below_zero); };
    return std::ranges::any_of(reals_of(constant->load()), is_broken) ? node : nullptr;
  }

  /// x / (ε + m)^α, where x and m, its mean, are levels of a spectrum, or inputs: automatic gain control. Keeps what computes both.
  void find_ratio(const Node& node) {
    const Arithmetic arithmetic = arithmetic_of(node);
    if ((arithmetic != Arithmetic::divide && arithmetic != Arithmetic::multiply) || node.inputs().size() != 2) return;
    for (const std::size_t below : {std::size_t{1}, std::size_t{0}}) {
      if (arithmetic == Arithmetic::divide && below == 0) return;
      const Node* const power = broken_power(node.input(below), arithmetic == Arithmetic::multiply);
      if (power == nullptr || !is_run_time(node.input(1 - below))) continue;
      Kept levels;
      const auto are_levels = [&](const Value* value) {
        Finder finder(*this, levels, kRatio);
        finder.most_products_ = 2, finder.takes_inputs_ = true;  // a mean may follow a filter bank
        return finder.climb(value, {}, 0);
      };
      const bool is_ratio = are_levels(node.input(1 - below)) && are_levels(power->input(0));
      if (!is_ratio) continue;
      keep({&node}, kRatio);
      kept_.merge(levels);
    }
  }

  // --- Differences --------------------------------------------------------------------------------------------------------------------

  /// Walks upstream over moves, Casts, signs and factors; notes them in `path`.
  const Node* unscaled(const Value* value, Path& path) {
    for (int steps = 0; is_run_time(value) && steps < kFarthest; ++steps) {
      const Node* const node = value->producer();
      if (node == nullptr || !node->domain().empty()) return nullptr;
      const Traits facts = traits_of(*node);
      std::size_t data = 0;
      if (facts.arithmetic() == Arithmetic::multiply || facts.arithmetic() == Arithmetic::divide) {
        if (is_run_time(node->input(0)) && is_run_time(node->input(1)) && facts.arithmetic() == Arithmetic::multiply) return node;
        data = is_run_time(node->input(0)) ? 0 : 1;
      } else if (!facts.moves_input(0) && !facts.has(Trait::casts) && facts.arithmetic() != Arithmetic::negate) {
        return node;
      }
      path.push_back(node);
      value = node->input(data);
    }
    return nullptr;
  }

  /// A product of two values of the data: a square, x · y, a matrix product of two.
  bool is_product(const Node& node) {
    if (node.is("Pow")) return number(node.input(1)) == 2;
    const bool multiplies = arithmetic_of(node) == Arithmetic::multiply || has_trait(node, Trait::multiplies);
    return multiplies && is_run_time(node.input(0)) && is_run_time(node.input(1));
  }

  /// A mean or a sum of many elements: a reduction, a pool, or a product with a weight of numbers that are not negative.
  bool is_mean(const Node& node) {
    if (adds_up(node) || node.is("CumSum") || has_trait(node, Trait::averages)) return true;
    if (!has_trait(node, Trait::multiplies) || is_run_time(node.input(0)) == is_run_time(node.input(1))) return false;
    const auto found = context_.constants.find(*node.input(is_run_time(node.input(0)) ? 1 : 0));
    const auto* const weight = std::get_if<Constant>(&found);
    if (weight == nullptr || !is_scalable(weight->type) || element_count(weight->dims) > kSmallWeight) return false;
    return std::ranges::none_of(reals_of(weight->load()), [](double number) { return number < 0; });
  }

  const Value* averaged(const Node& mean) { return mean.input(is_run_time(mean.input(0)) ? 0 : 1); }

  /// E[x · y], or a sum with such a term.
  bool is_mean_of_products(const Value* value, Path& path, int depth = 0) {
    const Node* const node = unscaled(value, path);
    if (node == nullptr || depth > 4) return false;
    path.push_back(node);
    if (reduces(*node) == Reduces::sum_square) return true;
    if (arithmetic_of(*node) == Arithmetic::add) {
      bool any = false;
      for (const Value* const term : node->inputs()) {
        Path way;
        if (!is_mean_of_products(term, way, depth + 1)) continue;
        path.insert(path.end(), way.begin(), way.end());
        any = true;
      }
      return any;
    }
    if (!is_mean(*node)) return false;
    Path way;
    const Node* const operand = unscaled(averaged(*node), way);
    if (operand == nullptr) return false;
    way.push_back(operand);
    if (!is_product(*operand)) {
      way.clear();
      if (!is_mean_of_products(averaged(*node), way, depth + 1)) return false;
    }
    path.insert(path.end(), way.begin(), way.end());
    return true;
  }

  /// E[x] · E[y], or another product, but none of those in `means`: x · y − E[x · y] is a deviation from a mean. Notes the means in it too.
  bool is_product_of_values(const Value* value, Path& path, const Path& means) {
    const Node* const node = unscaled(value, path);
    if (node == nullptr || !is_product(*node) || std::ranges::find(means, node) != means.end()) return false;
    path.push_back(node);
    for (const Value* const factor : node->inputs().first(std::min<std::size_t>(node->inputs().size(), 2))) {
      Path way;
      const Node* const mean = unscaled(factor, way);
      if (mean == nullptr || !is_mean(*mean)) continue;
      way.push_back(mean);
      path.insert(path.end(), way.begin(), way.end());
    }
    return true;
  }

  /// Whether the node subtracts one operand from the other.
  bool subtracts(const Node& node) {
    if (arithmetic_of(node) == Arithmetic::subtract) return true;
    if (arithmetic_of(node) != Arithmetic::add || node.inputs().size() != 2) return false;
    return std::ranges::any_of(node.inputs(), [&](const Value* term) {
      const Node* const maker = term != nullptr ? term->producer() : nullptr;
      if (maker == nullptr) return false;
      if (arithmetic_of(*maker) == Arithmetic::negate) return true;
      if (arithmetic_of(*maker) != Arithmetic::multiply) return false;
      return std::ranges::any_of(maker->inputs(), [&](const Value* factor) { return number(factor).value_or(0) < 0; });
    });
  }

  void find_difference(const Node& node) {
    if (!subtracts(node) || !is_run_time(node.input(0)) || !is_run_time(node.input(1))) return;
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      Path path{&node}, product;
      if (!is_mean_of_products(node.input(first), path)) continue;
      if (!is_product_of_values(node.input(1 - first), product, path)) {
        product.clear();
        if (!is_mean_of_products(node.input(1 - first), product)) continue;
      }
      path.insert(path.end(), product.begin(), product.end());
      return keep(path, kDifference);
    }
  }

  /// The operand that a limit, an addition of a constant, a move or a Cast passes on; nullptr for other nodes.
  const Value* passed_on(const Node& node) {
    const Traits facts = traits_of(node);
    const Arithmetic arithmetic = facts.arithmetic();
    if (arithmetic != Arithmetic::add && arithmetic != Arithmetic::maximum && arithmetic != Arithmetic::minimum) {
      return facts.has(Trait::clips) || facts.has(Trait::casts) || facts.moves_input(0) ? node.input(0) : nullptr;
    }
    const Value* only = nullptr;
    for (const Value* const operand : node.inputs()) {
      if (is_run_time(operand) && std::exchange(only, operand) != nullptr) return nullptr;
    }
    return only;
  }

  /// The root of a difference: √(1 − c²), √(E[x²] − E[x]²).
  void find_difference_under(const Node& root) {
    Path path;
    const Value* value = root.input(0);
    for (int steps = 0; is_run_time(value) && value->producer() != nullptr && steps < kFarthest; ++steps) {
      const Node& node = *value->producer();
      if (!node.domain().empty()) return;
      path.push_back(&node);
      if (subtracts(node)) break;
      value = passed_on(node);
    }
    if (path.empty() || !subtracts(*path.back())) return;
    bool any = false;
    for (const Value* const operand : path.back()->inputs()) {
      Path product;
      if (!is_product_of_values(operand, product, {})) {
        product.clear();
        if (!is_mean_of_products(operand, product)) continue;
      }
      path.insert(path.end(), product.begin(), product.end());
      any = true;
    }
    if (any) keep(path, kDifference);
  }

  // --- Squares ------------------------------------------------------------------------------------------------------------------------

  /// Whether a sum or a mean of many elements reads the value, with only moves between.
  static bool is_summed(const Value& value, int steps) {
    return steps < kFarthest && std::ranges::any_of(
                                    value.uses(),
                                    [&](const Use& use) {
                                      const Node& node = *use.node;
                                      if (!node.domain().empty() || use.index != 0) return false;
                                      if (adds_up(node)) return true;
                                      return traits_of(node).moves_input(0) && node.output(0) != nullptr &&
                                             is_summed(*node.output(0), steps + 1);
                                    });
  }

  // --- Powers of complex numbers ------------------------------------------------------------------------------------------------------

  /// x² + y², and further terms. Notes its nodes.
  bool is_sum_of_squares(const Node& sum, Path& path) {
    std::set<const Node*> seen;
    std::vector<const Node*> pending{&sum};
    while (!pending.empty() && seen.size() < kMostSquares) {
      const Node& node = *pending.back();
      pending.pop_back();
      if (!seen.insert(&node).second) continue;
      path.push_back(&node);
      if (&node != &sum && is_square(node) && is_product(node)) continue;
      if (arithmetic_of(node) != Arithmetic::add || node.inputs().size() < 2) return false;
      for (const Value* const term : node.inputs()) {
        const Node* const maker = is_run_time(term) ? unscaled(term, path) : nullptr;
        if (maker == nullptr) return false;
        pending.push_back(maker);
      }
    }
    return pending.empty();
  }

  /// Keeps powers, which leave the range long before their roots do, and the roots.
  void find_power(const Node& sum) {
    Path path;
    if (target_ != DataType::float16 || !is_sum_of_squares(sum, path)) return;
    for (const Use& use : sum.output(0)->uses()) {
      if (is_root(*use.node)) path.push_back(use.node);
    }
    keep(path, kSquares);
  }

  /// Keeps what computes a power that is divided by, or whose root is: as in front of a logarithm, its smallest numbers decide.
  void find_divisor(const Node& node) {
    const bool divides = arithmetic_of(node) == Arithmetic::divide && node.inputs().size() == 2;
    if (!divides && traits_of(node).exponent() >= 0) return;
    const Value* const divisor = node.input(divides ? 1 : 0);
    const Value* value = divisor;
    Path path{&node};
    for (int steps = 0; is_run_time(value) && steps < kFarthest; ++steps) {
      const Node* const maker = unscaled(value, path);
      if (maker == nullptr) return;
      if (Path power; is_sum_of_squares(*maker, power)) {
        Kept levels;
        if (Finder(*this, levels, kReciprocal).climb(divisor, {}, 0)) keep(path, kReciprocal), kept_.merge(levels);
        return;
      }
      path.push_back(maker);
      value = is_root(*maker) ? maker->input(0) : passed_on(*maker);
    }
  }

  // --- Guards -------------------------------------------------------------------------------------------------------------------------

  /// The least number that a node lets through: the constant of an Add, Max or Clip.
  std::optional<double> guard_of(const Node& node) {
    std::optional<double> least;
    if (has_trait(node, Trait::clips)) {
      const Attributes attributes(node);
      least = node.opset() < 11 ? std::optional(static_cast<double>(attributes.real("min", 0))) : number(node.input(1));
    } else if (arithmetic_of(node) == Arithmetic::add || arithmetic_of(node) == Arithmetic::maximum) {
      if (node.inputs().size() != 2) return std::nullopt;
      least = number(node.input(is_run_time(node.input(0)) ? 1 : 0));
    }
    return least && *least > 0 && *least < 1 && node.output(0) != nullptr ? least : std::nullopt;
  }

  /// Follows the smallest number that a value may hold to where it is divided by, and keeps the way there if the type does not hold it.
  void follow_guard(const Value& value, double least, const Path& path, int steps) {
    if (steps > kFarthest) return;
    for (const Use& use : value.uses()) {
      const Node& node = *use.node;
      if (!node.domain().empty() || node.output(0) == nullptr) continue;
      const auto input = as_size(use.index);
      const Traits facts = traits_of(node);
      Path way = path;
      way.push_back(&node);
      if (facts.arithmetic() == Arithmetic::divide && input == 1) {
        const double vanishing = std::ldexp(smallest_normal(target_), 3 - traits(target_).fraction_bits);
        if (least <= vanishing) keep(way, kGuard);
      } else if (const auto exponent = input == 0 ? exponent_of(node) : std::nullopt) {
        const double raised = std::pow(least, *exponent);
        if (*exponent >= 0) follow_guard(*node.output(0), raised, way, steps + 1);
        if (*exponent < 0 && raised >= overflow_of(target_)) keep_factors(*node.output(0), way, steps + 1);
      } else if (facts.moves_input(input) || facts.has(Trait::casts) || facts.arithmetic() == Arithmetic::maximum) {
        follow_guard(*node.output(0), least, way, steps + 1);
      } else if (facts.arithmetic() == Arithmetic::multiply) {
        const auto factor = number(node.input(1 - input));
        if (factor && *factor > 0) follow_guard(*node.output(0), least * *factor, way, steps + 1);
      }
    }
  }

  /// Keeps the products with a reciprocal that may leave the range.
  void keep_factors(const Value& reciprocal, const Path& path, int steps) {
    keep(path, kGuard);
    if (steps > kFarthest) return;
    for (const Use& use : reciprocal.uses()) {
      const Traits facts = traits_of(*use.node);
      Path way = path;
      way.push_back(use.node);
      if (facts.arithmetic() == Arithmetic::multiply) {
        keep(way, kGuard);
      } else if ((facts.moves_input(as_size(use.index)) || facts.has(Trait::casts)) && use.node->output(0) != nullptr) {
        keep_factors(*use.node->output(0), way, steps + 1);
      }
    }
  }

  PassContext& context_;
  DataType target_;
  Kept& kept_;
  std::string_view why_ = kSpectrum;
  int most_products_ = 1;
  bool takes_inputs_ = false;
  std::set<std::pair<const Node*, std::tuple<int, bool, int, bool>>> climbed_;
};

}  // namespace

DecidingBits::DecidingBits(Graph& graph, PassContext& context, DataType target) {
  Finder finder(context, target, reasons_);
  for_each_node(graph, [&](Node& node) { finder.look_at(node); });
}

std::string_view DecidingBits::reason(const Node& node) const {
  const auto found = reasons_.find(&node);
  return found != reasons_.end() ? found->second : std::string_view{};
}

}  // namespace relayout::passes
