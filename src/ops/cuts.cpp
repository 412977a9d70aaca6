// Numbers at which an operator's definition changes: kinks of Relu, HardSwish and others, limits of Clip, Max and Min, comparisons, domains
// of Log and Sqrt, ends of integer types (the ranges between them: verify/nodes/pieces.cpp).
#include "ops/cuts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "model/attributes.h"
#include "ops/bounds.h"
#include "ops/element_types.h"
#include "ops/elementwise.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
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
    return node_.is("ReduceSum") || node_.is("CumSum") || node_.is("ReduceProd") ? of_sum() : std::nullopt;
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

}  // namespace relayout
