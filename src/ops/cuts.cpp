// Finds the numbers at which an operator's definition changes, and the nodes downstream that end at a number.

#include "base/positions.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/formulas.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Operators whose pieces, or whose domain, begin at fixed numbers of operand 0.
struct FixedCuts {
  std::string_view op;
  double low, high;  ///< equal: one cut
};
constexpr auto kFixedCuts = std::to_array<FixedCuts>({
    {"Abs", 0, 0},
    {"Acos", -1, 1},
    {"Acosh", 1, 1},
    {"Asin", -1, 1},
    {"Atanh", -1, 1},
    {"Celu", 0, 0},
    {"Elu", 0, 0},
    {"HardSwish", -3, 3},
    {"LeakyRelu", 0, 0},
    {"Log", 0, 0},
    {"PRelu", 0, 0},
    {"Relu", 0, 0},
    {"Selu", 0, 0},
    {"Sign", 0, 0},
    {"Sqrt", 0, 0},
});

std::vector<double> ordered(double low, double high) {
  return low == high ? std::vector<double>{low} : std::vector<double>{std::min(low, high), std::max(low, high)};
}

class CutReader {
 public:
  CutReader(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of) : node_(node), types_(types), bounds_of_(bounds_of) {}

  [[nodiscard]] std::optional<Cuts> read() const {
    const auto fixed = std::ranges::find(kFixedCuts, std::string_view(node_.op_type()), &FixedCuts::op);
    if (fixed != kFixedCuts.end()) return Cuts{0, ordered(fixed->low, fixed->high), false};
    if (compares(predicate_of(node_))) return of_comparison();
    if (has_trait(node_, Trait::casts)) return of_cast();
    switch (arithmetic_of(node_)) {
      case Arithmetic::maximum:
      case Arithmetic::minimum:
        return of_limit_by_constant();
      case Arithmetic::none:
        return of_others();
      default:
        return of_sum();
    }
  }

 private:
  [[nodiscard]] std::optional<Cuts> of_others() const {
    const Attributes attributes(node_);
    if (node_.is("Clip")) return of_clip(attributes);
    const auto parameters = elementwise::parameters_of(node_.op_type(), attributes, node_.opset());
    const double alpha = parameters.alpha, beta = parameters.beta;
    if (node_.is("ThresholdedRelu")) return Cuts{0, {alpha}, false};
    if (node_.is("Shrink")) return Cuts{0, ordered(-alpha, alpha), false};
    if (node_.is("HardSigmoid")) {
      return alpha == 0 ? std::nullopt : std::optional(Cuts{0, ordered(-beta / alpha, (1 - beta) / alpha), false});
    }
    if (node_.is("Exp")) return of_exponential();
    if (node_.is("Pow")) return of_power();
    if (node_.is("Mod")) return of_remainder();
    const Reduces reduced = reduces(node_);
    return reduced == Reduces::sum || reduced == Reduces::product || node_.is("CumSum") ? of_sum() : std::nullopt;
  }

  /// The number that all elements of an operand equal; nothing when the operand varies or is infinite or absent.
  [[nodiscard]] std::optional<double> constant(std::size_t index) const {
    if (node_.input(index) == nullptr) return std::nullopt;
    const Bounds found = bounds_of_(*node_.input(index));
    return found.lowest == found.highest && std::isfinite(found.lowest) ? std::optional(found.lowest) : std::nullopt;
  }
  [[nodiscard]] DataType type_of(const Value* value) const { return value == nullptr ? DataType::undefined : types_.of(*value); }

  [[nodiscard]] std::optional<Cuts> of_clip(const Attributes& attributes) const {
    Cuts out;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      const auto given = node_.opset() < 11 ? attributes.real(i == 1 ? "min" : "max") : std::nullopt;
      const std::optional<double> limit = node_.opset() < 11 ? (given ? std::optional<double>(*given) : std::nullopt) : constant(i);
      if (limit) out.numbers.push_back(*limit);
    }
    std::ranges::sort(out.numbers);
    return out;
  }

  /// The constant limits of a Max or Min of which only one operand varies.
  [[nodiscard]] std::optional<Cuts> of_limit_by_constant() const {
    Cuts out;
    std::size_t varying = 0;
    for (std::size_t i = 0; i < node_.inputs().size(); ++i) {
      if (const auto limit = constant(i)) {
        out.numbers.push_back(*limit);
      } else {
        out.operand = i;
        ++varying;
      }
    }
    std::ranges::sort(out.numbers);
    return varying == 1 ? std::optional(out) : std::nullopt;
  }

  [[nodiscard]] std::optional<Cuts> of_comparison() const {
    if (node_.inputs().size() != 2 || node_.input(0) == node_.input(1)) return std::nullopt;
    const auto first = constant(0), second = constant(1);
    if (first.has_value() == second.has_value()) return std::nullopt;
    return Cuts{first ? std::size_t{1} : std::size_t{0}, {first ? *first : *second}, predicate_of(node_) == Predicate::equal};
  }

  /// The range of an integer type to which integers are cast.
  [[nodiscard]] std::optional<Cuts> of_cast() const {
    const DataType from = type_of(node_.input(0)), to = type_of(node_.output(0));
    if (!kIntegerTypes.has(from) || !kIntegerTypes.has(to)) return std::nullopt;
    const Bounds held = bounds_of_type(to);
    return Cuts{0, {held.lowest, held.highest}, false};
  }

  /// For a sum or product of integers of few bits: with large operands it exceeds their type.
  [[nodiscard]] std::optional<Cuts> of_sum() const {
    constexpr int kMostBits = 32;
    const DataType type = type_of(node_.output(0));
    if (!kIntegerTypes.has(type) || traits(type).bits > kMostBits) return std::nullopt;
    for (std::size_t i = 0; i < node_.inputs().size(); ++i) {
      if (node_.input(i) == nullptr || constant(i) || type_of(node_.input(i)) != type) continue;
      return Cuts{i, {std::floor(bounds_of_type(type).highest / 2)}, false};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Cuts> of_exponential() const {
    const DataType type = type_of(node_.input(0));
    if (type != DataType::float32 && type != DataType::float64) return std::nullopt;
    return Cuts{
        0, {std::log(type == DataType::float32 ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max())}, false};
  }

  [[nodiscard]] std::optional<Cuts> of_power() const {
    const auto exponent = constant(1);
    if (!exponent || *exponent == std::trunc(*exponent)) return std::nullopt;
    return Cuts{0, {0}, false};
  }

  [[nodiscard]] std::optional<Cuts> of_remainder() const {
    const auto divisor = constant(1);
    if (!divisor || *divisor <= 0) return std::nullopt;
    return Cuts{0, {0, std::nextafter(*divisor, 0.0)}, false};
  }

  const Node& node_;
  const ElementTypes& types_;
  const BoundsOf& bounds_of_;
};

}  // namespace

std::optional<Cuts> cuts_of(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of) {
  return has_trait(node, Trait::piecewise) ? CutReader(node, types, bounds_of).read() : std::nullopt;
}

// Nodes that end, or change without limit, at a number.
namespace {

constexpr std::size_t kMostReaders = 64;

/// Operators whose input 0 ends, or changes without limit, at a number: sorted.
constexpr auto kEdged =
    std::to_array<std::string_view>({"Acos", "Acosh", "Asin", "Atanh", "Log", "LpNormalization", "Reciprocal", "ReduceLogSum", "Sqrt"});
static_assert(std::ranges::is_sorted(kEdged));

/// Whether a power is smooth at 0: its exponent is a positive whole number.
bool has_whole_exponent(const Node& node, Constants& constants) {
  const Value* const exponent = node.input(1);
  if (exponent == nullptr) return false;
  const auto found = constants.find(*exponent);
  const auto* const constant = std::get_if<Constant>(&found);
  if (constant == nullptr || !is_scalable(constant->type) || element_count(constant->dims) != 1) return false;
  const std::vector<double> values = reals_of(constant->load());
  return values[0] >= 1 && values[0] == std::floor(values[0]);
}

bool is_edge(const Node& node, std::size_t input, Constants& constants) {
  // What a function computes is not followed.
  if (!node.domain().empty()) return node.domain() != kMicrosoftDomain;
  if (arithmetic_of(node) == Arithmetic::divide) return input == 1;
  if (input != 0) return false;
  if (node.is("Pow")) return !has_whole_exponent(node, constants);
  return is_edged(node);
}

/// Whether a small change of this input is a small change of the result, and 0 no other thing than a small number.
bool keeps_small(const Node& node, std::size_t input) {
  const Traits traits = traits_of(node);
  if (traits.moves_input(input)) return true;
  if (traits.arithmetic() != Arithmetic::none) return traits.arithmetic() != Arithmetic::divide || input == 0;
  if (input != 0) return traits.has(Trait::multiplies);
  return traits.has(Trait::casts) || traits.has(Trait::clips) || traits.has(Trait::homogeneous) || traits.has(Trait::averages) ||
         traits.has(Trait::pools) || traits.has(Trait::multiplies) || node.is("Pow") || traits.reduces() != Reduces::none;
}

class EdgeSearch {
 public:
  explicit EdgeSearch(Constants& constants) : constants_(constants) {}

  EdgeDownstream follow(const Value& value, bool has_multiplied) {
    EdgeDownstream best = value.is_output() ? outside(value, has_multiplied) : EdgeDownstream();
    for (const Use& use : value.uses()) {
      const Node& node = *use.node;
      const auto input = as_size(use.index);
      if (best.way == EdgeWay::elementwise || seen_.size() >= kMostReaders) return best;
      if (!is_needed(node)) continue;
      if (is_edge(node, input, constants_)) return {has_multiplied ? EdgeWay::through_products : EdgeWay::elementwise, &node};
      const bool multiplies = has_trait(node, Trait::multiplies);
      if (!keeps_small(node, input) || (multiplies && has_multiplied) || !seen_.insert(&node).second) continue;
      for (const Value* const output : node.outputs()) {
        if (output == nullptr) continue;
        const EdgeDownstream found = follow(*output, has_multiplied || multiplies);
        if (found.way > best.way) best = found;
      }
    }
    return best;
  }

 private:
  /// Whether an output of the graph depends on a node; also where that takes long to tell.
  bool is_needed(const Node& node, int depth = 0) {
    constexpr int kDeepest = 64;
    if (depth > kDeepest) return true;
    const auto known = needed_.find(&node);
    if (known != needed_.end()) return known->second;
    const auto leads_on = [&](const Value* output) {
      return output != nullptr &&
             (output->is_output() || std::ranges::any_of(output->uses(), [&](const Use& use) { return is_needed(*use.node, depth + 1); }));
    };
    const bool is_it = std::ranges::any_of(node.outputs(), leads_on);
    needed_.emplace(&node, is_it);
    return is_it;
  }

  /// The way from an output of a function, whose callers may have an edge, or of a branch of an If.
  EdgeDownstream outside(const Value& output, bool has_multiplied) {
    EdgeDownstream best;
    const Graph& graph = output.graph();
    if (graph.is_function()) return {has_multiplied ? EdgeWay::through_products : EdgeWay::elementwise, nullptr};
    const Node* const owner = graph.owner();
    if (owner == nullptr || !owner->is("If")) return best;
    for (std::size_t k = 0; k < graph.outputs().size(); ++k) {
      if (graph.outputs()[k] != &output || owner->output(k) == nullptr) continue;
      const EdgeDownstream found = follow(*owner->output(k), has_multiplied);
      if (found.way > best.way) best = found;
    }
    return best;
  }

  Constants& constants_;
  std::unordered_set<const Node*> seen_;
  std::unordered_map<const Node*, bool> needed_;
};

}  // namespace

bool is_edged(const Node& node) {
  return node.domain().empty() && std::ranges::binary_search(kEdged, std::string_view(node.op_type()));
}

EdgeDownstream edge_downstream(const Value& value, Constants& constants) {
  return EdgeSearch(constants).follow(value, false);
}

}  // namespace relayout
