// Bounds an operator's results by the intervals of its operands.
#include "ops/bounds.h"

#include <cmath>

#include "model/node.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/formulas.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// No reduction adds up more elements.
constexpr double kMostAdded = 0x1p20;

/// Operators whose results have fixed bounds, whatever their operands are.
struct Range {
  std::string_view op;
  Bounds bounds;
};
constexpr auto kRanges = std::to_array<Range>({
    {"Abs", {0, kInfinity}},
    {"Acosh", {0, kInfinity}},
    {"Cos", {-1, 1}},
    {"Cosh", {1, kInfinity}},
    {"Erf", {-1, 1}},
    {"Exp", {0, kInfinity}},
    {"Gelu", {-0.17005, kInfinity}},
    {"HardSigmoid", {0, 1}},
    {"HardSwish", {-0.375, kInfinity}},
    {"Hardmax", {0, 1}},
    {"LogSoftmax", {-kInfinity, 0}},
    {"Mish", {-0.30885, kInfinity}},
    {"ReduceL1", {0, kInfinity}},
    {"ReduceL2", {0, kInfinity}},
    {"ReduceSumSquare", {0, kInfinity}},
    {"Sigmoid", {0, 1}},
    {"Sign", {-1, 1}},
    {"Sin", {-1, 1}},
    {"Softmax", {0, 1}},
    {"Softplus", {0, kInfinity}},
    {"Softsign", {-1, 1}},
    {"Sqrt", {0, kInfinity}},
    {"Tanh", {-1, 1}},
});

/// Whether results are means, or the largest or smallest, of elements of the first operand.
bool chooses_among(const Node& node) {
  const Reduces reduced = reduces(node);
  return reduced == Reduces::maximum || reduced == Reduces::mean || reduced == Reduces::minimum || node.is("TopK");
}

Bounds join(Bounds a, Bounds b) {
  return {std::min(a.lowest, b.lowest), std::max(a.highest, b.highest)};
}

/// 0 · ∞ is 0 here: the bound of a product that is always 0.
Bounds product(Bounds a, Bounds b) {
  Bounds out{kInfinity, -kInfinity};
  for (const double x : {a.lowest, a.highest}) {
    for (const double y : {b.lowest, b.highest}) {
      const double found = x == 0 || y == 0 ? 0 : x * y;
      out = join(out, {found, found});
    }
  }
  return out;
}

Bounds reciprocal(Bounds a) {
  if (a.lowest >= 0) return {a.highest == kInfinity ? 0 : 1 / a.highest, a.lowest > 0 ? 1 / a.lowest : kInfinity};
  return {};
}

class ResultReader {
 public:
  ResultReader(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of)
      : node_(node), types_(types), bounds_of_(bounds_of) {}

  [[nodiscard]] Bounds read() const {
    const Traits traits = traits_of(node_);
    if (traits.has(Trait::makes_boolean)) return {0, 1};
    if (traits.has(Trait::makes_int64)) return {-kMostSize, kMostSize};
    if (node_.is("Clip")) return of_clip();
    if (node_.is("DequantizeLinear")) return of_steps();
    if (traits.has(Trait::clips)) return {std::max(0.0, operand(0).lowest), std::max(0.0, operand(0).highest)};
    if (traits.has(Trait::pools) && (traits.has(Trait::averages) || traits.has(Trait::exact))) return of_pool();
    if (traits.has(Trait::casts)) return of_cast();
    if (traits.has(Trait::identity) || chooses_among(node_)) return is_largest_of_softmax() ? Bounds{1 / kMostAdded, 1} : operand(0);
    if (traits.moves_input(0) || traits.moves_input(1)) return of_moved(traits);
    const auto fixed = std::ranges::find(kRanges, std::string_view(node_.op_type()), &Range::op);
    if (fixed == kRanges.end()) return of_arithmetic();
    const Invertible* const rising = traits.has(Trait::increases) ? inverse_of(node_) : nullptr;
    return rising != nullptr ? meet(fixed->bounds, of_rising(rising->result, fixed->bounds)) : fixed->bounds;
  }

 private:
  [[nodiscard]] Bounds operand(std::size_t index) const {
    return node_.input(index) == nullptr ? Bounds{} : bounds_of_(*node_.input(index));
  }

  /// Whether it is the largest of numbers that add up to 1.
  [[nodiscard]] bool is_largest_of_softmax() const {
    const Node* const softmax = reduces(node_) == Reduces::maximum && node_.input(0) != nullptr ? node_.input(0)->producer() : nullptr;
    if (softmax == nullptr || !softmax->is("Softmax") || softmax->opset() < 13 || softmax->input(0) == nullptr) return false;
    const auto declared = softmax->input(0)->declared();
    const int64_t axis = Attributes(*softmax).integer("axis", -1), rank = declared && declared->has_shape ? std::ssize(declared->dims) : 0;
    const auto is_its_axis = [&](int64_t reduced) { return reduced == axis || (rank > 0 && (reduced - axis) % rank == 0); };
    if (node_.input(1) != nullptr) {
      const Bounds axes = operand(1);
      return axes.lowest == axes.highest && is_its_axis(static_cast<int64_t>(axes.lowest));
    }
    const std::vector<int64_t> axes = Attributes(node_).integers("axes");
    return axes.empty() || std::ranges::any_of(axes, is_its_axis);
  }

  [[nodiscard]] Bounds of_clip() const {
    const Attributes attributes(node_);
    constexpr float kEnd = std::numeric_limits<float>::infinity();
    const auto limit = [&](std::size_t index, std::string_view name, float otherwise) {
      if (node_.opset() < 11) return Bounds{attributes.real(name, otherwise), attributes.real(name, otherwise)};
      return node_.input(index) != nullptr ? operand(index) : Bounds{otherwise, otherwise};
    };
    const double low = limit(1, "min", -kEnd).lowest, high = limit(2, "max", kEnd).highest;
    const Bounds given = operand(0);
    return {std::min(std::max(given.lowest, low), high), std::max(std::min(given.highest, high), low)};
  }

  /// The function of the operand's ends, and what rounding adds to it. Numbers beyond its domain have no result.
  [[nodiscard]] Bounds of_rising(double (*function)(double), Bounds range) const {
    constexpr double kRounding = 0x1p-7;
    double low = function(operand(0).lowest), high = function(operand(0).highest);
    low = std::isnan(low) ? range.lowest : low, high = std::isnan(high) ? range.highest : high;
    return {low - kRounding * std::fabs(low), high + kRounding * std::fabs(high)};
  }

  /// A Cast to bool tests for numbers other than 0; a Cast to an integer cuts fractions off.
  [[nodiscard]] Bounds of_cast() const {
    const Bounds given = operand(0);
    const DataType to = node_.output(0) == nullptr ? DataType::undefined : types_.of(*node_.output(0));
    if (to == DataType::boolean) return {given.lowest > 0 || given.highest < 0 ? 1.0 : 0.0, 1};
    return kIntegerTypes.has(to) ? Bounds{std::trunc(given.lowest), std::trunc(given.highest)} : given;
  }

  /// Results are means, or the largest, of windows. Zeros beyond the borders are elements too where they count.
  [[nodiscard]] Bounds of_pool() const {
    const bool counts_zeros = Attributes(node_).integer("count_include_pad", 0) != 0;
    return counts_zeros ? join(operand(0), {0, 0}) : operand(0);
  }

  /// Quantized numbers have the zero point's type.
  [[nodiscard]] Bounds of_steps() const {
    const Bounds zero = node_.input(2) == nullptr ? Bounds{0, 0} : operand(2);
    const DataType type = node_.input(2) == nullptr ? DataType::undefined : types_.of(*node_.input(2));
    const Bounds steps = meet(operand(0), bounds_of_type(type));
    return product({steps.lowest - zero.highest, steps.highest - zero.lowest}, operand(1));
  }

  /// Elements come from the moved operands, or are 0 where the operator fills with zeros by default.
  [[nodiscard]] Bounds of_moved(const Traits& traits) const {
    Bounds out = traits.has(Trait::fills) || node_.is("Scatter") ? Bounds{0, 0} : Bounds{kInfinity, -kInfinity};
    for (std::size_t i = 0; i < node_.inputs().size(); ++i) {
      if (node_.input(i) != nullptr && traits.moves_input(i)) out = join(out, operand(i));
    }
    const bool by_attribute = node_.is("Pad") && Attributes(node_).real("value").has_value();
    return out.lowest > out.highest || by_attribute ? Bounds{} : out;
  }

  template <class Combine>
  [[nodiscard]] Bounds fold(const Combine& combine) const {
    Bounds out = operand(0);
    for (std::size_t i = 1; i < node_.inputs().size(); ++i) out = combine(out, operand(i));
    return out;
  }

  [[nodiscard]] Bounds of_arithmetic() const {
    if (less_its_largest(node_) != nullptr) return {-kInfinity, 0};
    const Bounds first = operand(0), second = operand(1);
    switch (arithmetic_of(node_)) {
      case Arithmetic::add:
        return fold([](Bounds a, Bounds b) { return Bounds{a.lowest + b.lowest, a.highest + b.highest}; });
      case Arithmetic::mean:
        return fold(join);
      case Arithmetic::subtract:
        return {first.lowest - second.highest, first.highest - second.lowest};
      case Arithmetic::multiply:
        return node_.input(0) == node_.input(1) ? Bounds{0, kInfinity} : product(first, second);
      case Arithmetic::divide:
        return product(first, reciprocal(second));
      case Arithmetic::maximum:
        return fold([](Bounds a, Bounds b) { return Bounds{std::max(a.lowest, b.lowest), std::max(a.highest, b.highest)}; });
      case Arithmetic::minimum:
        return fold([](Bounds a, Bounds b) { return Bounds{std::min(a.lowest, b.lowest), std::min(a.highest, b.highest)}; });
      case Arithmetic::negate:
        return {-first.highest, -first.lowest};
      case Arithmetic::none:
        break;
    }
    return of_others(first, second);
  }

  [[nodiscard]] Bounds of_others(Bounds first, Bounds second) const {
    if (node_.is("Pow")) {
      const bool is_even = second.lowest == second.highest && std::fmod(second.lowest, 2) == 0;
      return is_even || first.lowest >= 0 ? Bounds{0, kInfinity} : Bounds{};
    }
    if (node_.is("Reciprocal")) return reciprocal(first);
    const Reduces reduced = reduces(node_);
    if (reduced == Reduces::sum && first.lowest > 0) return {first.lowest, kMostAdded * first.highest};
    if (reduced == Reduces::sum || node_.is("CumSum"))
      return {std::min(0.0, kMostAdded * first.lowest), std::max(0.0, kMostAdded * first.highest)};
    if (reduced == Reduces::product) return {first.lowest >= 0 ? 0 : -kInfinity, kInfinity};
    if (rounds(node_) != Rounds::none) return {std::floor(first.lowest), std::ceil(first.highest)};
    if (node_.is("Log") && first.highest <= 1) return {-kInfinity, 0};
    if (node_.is("Swish")) return of_swish();
    return of_unit(first);
  }

  /// Operators with another slope or an exponential function below zero.
  [[nodiscard]] Bounds of_unit(Bounds operand) const {
    const auto [alpha, gamma] = parameters();
    if (node_.is("Elu") || node_.is("ThresholdedRelu")) return {node_.is("Elu") ? std::min(0.0, -alpha) : std::min(0.0, alpha), kInfinity};
    if (node_.is("Celu") && alpha > 0) return {-alpha, kInfinity};
    if (node_.is("Selu") && gamma >= 0) return {std::min(0.0, -gamma * alpha), kInfinity};
    if (!node_.is("LeakyRelu")) return {};
    const Bounds below = product({std::min(0.0, operand.lowest), std::min(0.0, operand.highest)}, {alpha, alpha});
    return join(below, {std::max(0.0, operand.lowest), std::max(0.0, operand.highest)});
  }

  /// Numbers of an activation: alpha, and gamma of Selu.
  [[nodiscard]] std::pair<double, double> parameters() const {
    const auto [alpha, beta] = elementwise::parameters_of(node_.op_type(), Attributes(node_), node_.opset());
    return {alpha, beta};
  }

  /// x · sigmoid(α · x) is u · sigmoid(u) divided by α, where u = α · x.
  [[nodiscard]] Bounds of_swish() const {
    const double alpha = parameters().first;
    return alpha == 0 ? Bounds{} : product({-0.27847, kInfinity}, {1 / alpha, 1 / alpha});
  }

  const Node& node_;
  const ElementTypes& types_;
  const BoundsOf& bounds_of_;
};

}  // namespace

Bounds bounds_of_type(DataType type) {
  if (type == DataType::boolean) return {0, 1};
  const DataTypeTraits& known = traits(type);
  if (!known.is_integer) return {};
  if (!known.is_signed) return {0, std::ldexp(1.0, known.bits) - 1};
  return {-std::ldexp(1.0, known.bits - 1), std::ldexp(1.0, known.bits - 1) - 1};
}

Bounds meet(Bounds a, Bounds b) {
  return {std::max(a.lowest, b.lowest), std::min(a.highest, b.highest)};
}

bool is_bounded(const Node& node) {
  const auto found = std::ranges::find(kRanges, std::string_view(node.op_type()), &Range::op);
  return node.domain().empty() && found != kRanges.end() && std::isfinite(found->bounds.lowest) && std::isfinite(found->bounds.highest);
}

Bounds bounds_of_result(const Node& node, const ElementTypes& types, const BoundsOf& bounds_of) {
  const Bounds of_type = node.output(0) == nullptr ? Bounds{} : bounds_of_type(types.of(*node.output(0)));
  const Bounds found = node.domain().empty() ? meet(ResultReader(node, types, bounds_of).read(), of_type) : of_type;
  return found.lowest <= found.highest ? found : of_type;  // all beyond the ends of the type: conversion moves them back into it
}

std::optional<Bounds> bounds_of_count(const Value& value, Constants& constants) {
  const Node* const node = value.producer();
  if (node == nullptr || !node->domain().empty()) return std::nullopt;
  const bool is_first = value.output_index() == 0;
  if (is_first && node->is("Range")) return Bounds{-kMostSize, kMostSize};
  if (is_first ? !has_trait(*node, Trait::makes_int64) : !node->is("TopK")) return std::nullopt;
  const bool is_within_dim = !is_first || has_trait(*node, Trait::searches) || node->is("NonZero") || node->is("Shape");
  const PartialDims dims = node->input(0) != nullptr ? constants.dims(*node->input(0)) : std::nullopt;
  const int64_t elements = dims ? product_of(*dims) : -1;
  if (elements < 0 || dims->empty()) return Bounds{-kMostSize, kMostSize};
  if (node->is("Size")) return Bounds{0, static_cast<double>(elements)};
  if (is_within_dim) return Bounds{0, static_cast<double>(std::ranges::max(*dims))};
  return Bounds{-kMostSize, kMostSize};
}

bool keeps_magnitude(const Node& node) {
  const Traits traits = traits_of(node);
  return traits.has(Trait::homogeneous) || traits.has(Trait::contracts) || traits.has(Trait::affine) || traits.has(Trait::averages) ||
         traits.has(Trait::pools) || node.is("PRelu") || node.is("Resize") || node.is("Upsample") || traits.reduces() != Reduces::none;
}

// Functions of one number with their inverses, in double.
namespace {

constexpr auto kInvertible = std::to_array<Invertible>({
    {"Neg", [](double x) { return -x; }, [](double y) { return -y; }},
    {"Abs", [](double x) { return std::fabs(x); }, [](double y) { return y; }, true},
    {"Floor", [](double x) { return rounded(Rounds::down, x); }, [](double y) { return y; }},
    {"Ceil", [](double x) { return rounded(Rounds::up, x); }, [](double y) { return y; }},
    {"Round", [](double x) { return rounded(Rounds::to_nearest, x); }, [](double y) { return y; }},
    {"Relu", [](double x) { return std::max(x, 0.0); }, [](double y) { return y; }},
    {"Sqrt", [](double x) { return std::sqrt(x); }, [](double y) { return y * y; }},
    {"Exp", [](double x) { return std::exp(x); }, [](double y) { return std::log(y); }},
    {"Log", [](double x) { return std::log(x); }, [](double y) { return std::exp(y); }},
    {"Reciprocal", [](double x) { return 1 / x; }, [](double y) { return 1 / y; }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, [](double y) { return std::log(y / (1 - y)); }},
    {"Softplus", [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); },
     [](double y) { return y + std::log(-std::expm1(-y)); }},
    {"Tanh", [](double x) { return std::tanh(x); }, [](double y) { return std::atanh(y); }},
});

}  // namespace

const Invertible* inverse_of(const Node& node) {
  const auto* const found = std::ranges::find_if(kInvertible, [&](const Invertible& entry) { return node.is(entry.op); });
  return found == kInvertible.end() ? nullptr : found;
}

}  // namespace relayout
