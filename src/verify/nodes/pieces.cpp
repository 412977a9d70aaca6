// Pieces of which the definitions of operators are made: limits, kinks, comparisons, domains, and the numbers that a type holds.
#include "verify/nodes/pieces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "model/attributes.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/nodes/bounds.h"

namespace relayout {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The numbers between the pieces of operand `operand`, in order; where `is_equal`, the one number that has a piece of its own.
struct Cuts {
  std::size_t operand = 0;
  std::vector<double> numbers;
  bool is_equal = false;
};

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

/// Reads the cuts of one node.
class CutReader {
 public:
  CutReader(const Node& node, ValueBounds& bounds, bool is_wide) : node_(node), bounds_(bounds), is_wide_(is_wide) {}

  [[nodiscard]] std::optional<Cuts> read() {
    const auto fixed = std::ranges::find(kFixedCuts, std::string_view(node_.op_type()), &FixedCuts::op);
    if (fixed != kFixedCuts.end()) return Cuts{0, ordered(fixed->low, fixed->high), false};
    if (has_trait(node_, Trait::makes_boolean)) return of_comparison();
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
  [[nodiscard]] std::optional<Cuts> of_others() {
    const Attributes attributes(node_);
    const auto number = [&](std::string_view name, float otherwise) { return static_cast<double>(attributes.real(name, otherwise)); };
    if (node_.is("Clip")) return of_clip(attributes);
    if (node_.is("ThresholdedRelu")) return Cuts{0, {number("alpha", 1)}, false};
    if (node_.is("Shrink")) return Cuts{0, ordered(-number("lambd", 0.5F), number("lambd", 0.5F)), false};
    if (node_.is("HardSigmoid")) {
      const double alpha = number("alpha", 0.2F), beta = number("beta", 0.5F);
      return alpha == 0 ? std::nullopt : std::optional(Cuts{0, ordered(-beta / alpha, (1 - beta) / alpha), false});
    }
    if (node_.is("Exp")) return of_exponential();
    if (node_.is("Pow")) return of_power();
    if (node_.is("Mod")) return of_remainder();
    return node_.is("ReduceSum") || node_.is("CumSum") || node_.is("ReduceProd") ? of_sum() : std::nullopt;
  }

  /// The one number that an operand is; nothing where it varies, and where it is infinite or none.
  [[nodiscard]] std::optional<double> constant(std::size_t index) {
    if (node_.input(index) == nullptr) return std::nullopt;
    const Bounds found = bounds_.of(*node_.input(index));
    return found.lowest == found.highest && std::isfinite(found.lowest) ? std::optional(found.lowest) : std::nullopt;
  }
  [[nodiscard]] DataType type_of(const Value* value) const { return value == nullptr ? DataType::undefined : bounds_.types().of(*value); }

  [[nodiscard]] std::optional<Cuts> of_clip(const Attributes& attributes) {
    Cuts out;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      const auto given = node_.opset() < 11 ? attributes.real(i == 1 ? "min" : "max") : std::nullopt;
      const std::optional<double> limit = node_.opset() < 11 ? (given ? std::optional<double>(*given) : std::nullopt) : constant(i);
      if (limit) out.numbers.push_back(*limit);
    }
    std::ranges::sort(out.numbers);
    return out;
  }

  /// Of two operands, one a single number.
  [[nodiscard]] std::optional<Cuts> of_limit_by_constant() {
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

  [[nodiscard]] std::optional<Cuts> of_comparison() {
    if (node_.inputs().size() != 2 || node_.input(0) == node_.input(1)) return std::nullopt;
    const bool is_logical = !has_trait(node_, Trait::piecewise);
    if (is_logical) return std::nullopt;
    const auto first = constant(0), second = constant(1);
    if (first.has_value() == second.has_value()) return std::nullopt;
    return Cuts{first ? std::size_t{1} : std::size_t{0}, {first ? *first : *second}, node_.is("Equal")};
  }

  /// An integer type that does not hold all numbers of another one.
  [[nodiscard]] std::optional<Cuts> of_cast() {
    const DataType from = type_of(node_.input(0)), to = type_of(node_.output(0));
    if (!kIntegerTypes.has(from) || !kIntegerTypes.has(to)) return std::nullopt;
    const Bounds held = bounds_of_type(to);
    return Cuts{0, {held.lowest, held.highest}, false};
  }

  /// A sum or product of integers of few bits: of large ones it is beyond their type.
  [[nodiscard]] std::optional<Cuts> of_sum() {
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
    if (!is_wide_ || (type != DataType::float32 && type != DataType::float64)) return std::nullopt;
    return Cuts{
        0, {std::log(type == DataType::float32 ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max())}, false};
  }

  [[nodiscard]] std::optional<Cuts> of_power() {
    const auto exponent = constant(1);
    if (!exponent || *exponent == std::trunc(*exponent)) return std::nullopt;
    return Cuts{0, {0}, false};
  }

  [[nodiscard]] std::optional<Cuts> of_remainder() {
    const auto divisor = constant(1);
    if (!divisor || *divisor <= 0) return std::nullopt;
    return Cuts{0, {0, std::nextafter(*divisor, 0.0)}, false};
  }

  const Node& node_;
  ValueBounds& bounds_;
  bool is_wide_;
};

/// Whether a run shows the elements of a value: a node makes it, or a caller gives it.
bool is_shown(const Value& value) {
  return value.producer() != nullptr || (value.is_input() && value.graph().outer() == nullptr && !value.graph().is_function());
}

/// Both results of a comparison.
std::vector<Piece> results_of(const Node& node) {
  const bool can_be_told = has_trait(node, Trait::makes_boolean) && has_trait(node, Trait::piecewise) && node.input(0) != node.input(1);
  if (!can_be_told || node.output(0) == nullptr) return {};
  return {{&node, node.output(0), 0, 0, true, false}, {&node, node.output(0), 1, 1, true, false}};
}

bool can_reach(const Bounds& bounds, const Piece& piece) {
  if (piece.is_point) return bounds.lowest <= piece.above && piece.above <= bounds.highest;
  return bounds.highest > piece.above && bounds.lowest < piece.below;
}

}  // namespace

std::string Piece::text() const {
  if (watched == node->output(0)) return above != 0 ? "true" : "false";
  if (is_point) return exact_number(above);
  if (below == kInfinity) return "number above " + exact_number(above);
  if (above == -kInfinity) return "number below " + exact_number(below);
  return "number between " + exact_number(above) + " and " + exact_number(below);
}

std::vector<Piece> pieces_of(const Node& node, ValueBounds& bounds, bool is_wide) {
  if (!has_trait(node, Trait::piecewise)) return {};
  const auto cuts = CutReader(node, bounds, is_wide).read();
  const Value* const watched = cuts ? node.input(cuts->operand) : nullptr;
  if (watched == nullptr || !is_shown(*watched)) return results_of(node);
  std::vector<Piece> out;
  if (cuts->is_equal) {
    out.push_back({&node, watched, cuts->numbers.front(), cuts->numbers.front(), true, false});
  } else {
    double above = -kInfinity;
    for (const double cut : cuts->numbers) {
      if (cut > above) out.push_back({&node, watched, above, cut, false, false});
      above = std::max(above, cut);
    }
    if (!cuts->numbers.empty()) out.push_back({&node, watched, above, kInfinity, false, false});
  }
  const Bounds found = bounds.of(*watched);
  std::erase_if(out, [&](const Piece& piece) { return !can_reach(found, piece); });
  return out;
}

const Value* before_limits(const Value& value) {
  const Value* at = &value;
  while (at->producer() != nullptr) {
    const Node& node = *at->producer();
    const Traits traits = traits_of(node);
    const Arithmetic arithmetic = arithmetic_of(node);
    const bool limits = traits.has(Trait::clips) || arithmetic == Arithmetic::maximum || arithmetic == Arithmetic::minimum;
    if (!limits && !traits.has(Trait::casts) && !traits.moves_input(0)) return at;
    const auto varies = [](const Value* input) { return input != nullptr && !input->is_stored_constant(); };
    if (std::ranges::count_if(node.inputs(), varies) != 1) return at;
    at = *std::ranges::find_if(node.inputs(), varies);
  }
  return at;
}

}  // namespace relayout
