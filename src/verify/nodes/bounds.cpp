// Bounds of values by the definitions of the operators that make them.
#include "verify/nodes/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "model/attributes.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// No dim, index or count of a model that runs is larger, and no more elements are added up.
constexpr double kMostSize = 0x1p30, kMostAdded = 0x1p20;

/// Operators whose results lie between two numbers whatever they read.
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
    {"Gelu", {-0.2, kInfinity}},
    {"HardSigmoid", {0, 1}},
    {"HardSwish", {-0.375, kInfinity}},
    {"Hardmax", {0, 1}},
    {"LogSoftmax", {-kInfinity, 0}},
    {"Mish", {-0.31, kInfinity}},
    {"ReduceL1", {0, kInfinity}},
    {"ReduceL2", {0, kInfinity}},
    {"ReduceSumSquare", {0, kInfinity}},
    {"Relu", {0, kInfinity}},
    {"Sigmoid", {0, 1}},
    {"Sign", {-1, 1}},
    {"Sin", {-1, 1}},
    {"Softmax", {0, 1}},
    {"Softplus", {0, kInfinity}},
    {"Softsign", {-1, 1}},
    {"Sqrt", {0, kInfinity}},
    {"Swish", {-0.28, kInfinity}},
    {"Tanh", {-1, 1}},
});

/// Results are means, or the largest or smallest, of elements of the first operand.
constexpr auto kChoosing = std::to_array<std::string_view>(
    {"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReduceMax", "ReduceMean", "ReduceMin", "TopK"});

Bounds join(Bounds a, Bounds b) {
  return {std::min(a.lowest, b.lowest), std::max(a.highest, b.highest)};
}

Bounds meet(Bounds a, Bounds b) {
  return {std::max(a.lowest, b.lowest), std::min(a.highest, b.highest)};
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

Bounds negative(Bounds a) {
  return {-a.highest, -a.lowest};
}

/// Whether a node subtracts the largest of the numbers that it subtracts from.
bool is_distance_to_largest(const Node& sub) {
  const Node* const largest = sub.input(1) == nullptr ? nullptr : sub.input(1)->producer();
  return largest != nullptr && largest->is("ReduceMax") && largest->input(0) == sub.input(0);
}

}  // namespace

Bounds bounds_of_type(DataType type) {
  if (type == DataType::boolean) return {0, 1};
  if (!kIntegerTypes.has(type)) return {};
  const int bits = traits(type).bits;
  if (kUnsignedTypes.has(type)) return {0, std::ldexp(1.0, bits) - 1};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

ValueBounds::ValueBounds(const Graph& graph, std::set<std::string> masks, std::set<std::string> kept)
    : types_(graph, signatures_), masks_(std::move(masks)), kept_(std::move(kept)) {}

Bounds ValueBounds::of(const Value& value) {
  const auto found = known_.find(&value);
  if (found != known_.end()) return found->second;
  constexpr int kDeepest = 200;
  if (depth_ >= kDeepest) return bounds_of_type(types_.of(value));
  ++depth_;
  const Bounds bounds = meet(find(value), bounds_of_type(types_.of(value)));
  --depth_;
  return known_.emplace(&value, bounds).first->second;
}

Bounds ValueBounds::find(const Value& value) {
  const auto constant = constants_.value(value);
  if (constant && (kNumericTypes | kBooleanTypes).has(constant->type()) && constant->element_count() > 0) {
    const Tensor dense = contiguous(*constant);
    std::vector<double> numbers(as_size(dense.element_count()));
    load(dense.type(), dense.bytes(), 1, dense.element_count(), numbers.data());
    if (std::ranges::any_of(numbers, [](double number) { return std::isnan(number); })) return {};
    const auto [lowest, highest] = std::ranges::minmax(numbers);
    return {lowest, highest};
  }
  if (value.producer() == nullptr) return of_input(value);
  return value.output_index() == 0 ? of_result(*value.producer()) : Bounds{};
}

Bounds ValueBounds::of_input(const Value& value) const {
  if (masks_.contains(value.name())) return {0, 1};
  if (kept_.contains(value.name())) return {-kMostSize, kMostSize - 1};
  return {};
}

Bounds ValueBounds::operand(const Node& node, std::size_t index) {
  return node.input(index) == nullptr ? Bounds{} : of(*node.input(index));
}

Bounds ValueBounds::of_result(const Node& node) {
  if (!node.domain().empty()) return {};
  const Traits traits = traits_of(node);
  if (traits.has(Trait::makes_boolean)) return {0, 1};
  if (traits.has(Trait::makes_int64)) return {-kMostSize, kMostSize};
  if (node.is("Clip")) return of_clip(node);
  if (node.is("Relu")) return {std::max(0.0, operand(node, 0).lowest), std::max(0.0, operand(node, 0).highest)};
  if (node.is("DequantizeLinear")) return of_steps(node);
  const bool hands_on = traits.has(Trait::identity) || traits.has(Trait::casts) ||
                        std::ranges::find(kChoosing, std::string_view(node.op_type())) != kChoosing.end();
  if (hands_on) return operand(node, 0);
  if (traits.moves_input(0) || traits.moves_input(1)) return of_moved(node);
  const auto fixed = std::ranges::find(kRanges, std::string_view(node.op_type()), &Range::op);
  return fixed != kRanges.end() ? fixed->bounds : of_arithmetic(node);
}

Bounds ValueBounds::of_clip(const Node& node) {
  const Attributes attributes(node);
  constexpr float kEnd = std::numeric_limits<float>::infinity();
  const auto limit = [&](std::size_t index, std::string_view name, float otherwise) {
    if (node.opset() < 11) return Bounds{attributes.real(name, otherwise), attributes.real(name, otherwise)};
    return node.input(index) != nullptr ? operand(node, index) : Bounds{otherwise, otherwise};
  };
  const double low = limit(1, "min", -kEnd).lowest, high = limit(2, "max", kEnd).highest;
  const Bounds given = operand(node, 0);
  return {std::min(std::max(given.lowest, low), high), std::max(std::min(given.highest, high), low)};
}

/// Steps are of the zero point's type, whatever makes them.
Bounds ValueBounds::of_steps(const Node& node) {
  const Bounds zero = node.input(2) == nullptr ? Bounds{0, 0} : operand(node, 2);
  const DataType type = node.input(2) == nullptr ? DataType::undefined : types_.of(*node.input(2));
  const Bounds steps = meet(operand(node, 0), bounds_of_type(type));
  return product({steps.lowest - zero.highest, steps.highest - zero.lowest}, operand(node, 1));
}

/// Elements come from the operands that are moved, or are 0 where nothing else fills them.
Bounds ValueBounds::of_moved(const Node& node) {
  const Traits traits = traits_of(node);
  const bool may_fill = node.is("Pad") || node.is("Trilu") || node.is("MaxUnpool") || node.is("CenterCropPad") || node.is("Scatter");
  Bounds out = may_fill ? Bounds{0, 0} : Bounds{kInfinity, -kInfinity};
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && traits.moves_input(i)) out = join(out, operand(node, i));
  }
  const bool by_attribute = node.is("Pad") && Attributes(node).real("value").has_value();
  return out.lowest > out.highest || by_attribute ? Bounds{} : out;
}

Bounds ValueBounds::of_arithmetic(const Node& node) {
  const Bounds first = operand(node, 0), second = operand(node, 1);
  const auto fold = [&](const auto& combine) {
    Bounds out = first;
    for (std::size_t i = 1; i < node.inputs().size(); ++i) out = combine(out, operand(node, i));
    return out;
  };
  switch (arithmetic_of(node)) {
    case Arithmetic::add:
      return fold([](Bounds a, Bounds b) { return Bounds{a.lowest + b.lowest, a.highest + b.highest}; });
    case Arithmetic::mean:
      return fold(join);
    case Arithmetic::subtract:
      return is_distance_to_largest(node) ? Bounds{-kInfinity, 0} : Bounds{first.lowest - second.highest, first.highest - second.lowest};
    case Arithmetic::multiply:
      return node.input(0) == node.input(1) ? Bounds{0, kInfinity} : product(first, second);
    case Arithmetic::divide:
      return product(first, reciprocal(second));
    case Arithmetic::maximum:
      return fold([](Bounds a, Bounds b) { return Bounds{std::max(a.lowest, b.lowest), std::max(a.highest, b.highest)}; });
    case Arithmetic::minimum:
      return fold([](Bounds a, Bounds b) { return Bounds{std::min(a.lowest, b.lowest), std::min(a.highest, b.highest)}; });
    case Arithmetic::negate:
      return negative(first);
    case Arithmetic::none:
      break;
  }
  return of_others(node);
}

Bounds ValueBounds::of_others(const Node& node) {
  const Bounds first = operand(node, 0), second = operand(node, 1);
  if (node.is("Pow")) {
    const bool is_even = second.lowest == second.highest && std::fmod(second.lowest, 2) == 0;
    return is_even || first.lowest >= 0 ? Bounds{0, kInfinity} : Bounds{};
  }
  if (node.is("Reciprocal")) return reciprocal(first);
  if (node.is("ReduceSum") || node.is("CumSum"))
    return {std::min(0.0, kMostAdded * first.lowest), std::max(0.0, kMostAdded * first.highest)};
  if (node.is("ReduceProd")) return {first.lowest >= 0 ? 0 : -kInfinity, kInfinity};
  if (node.is("Floor") || node.is("Ceil") || node.is("Round")) return {std::floor(first.lowest), std::ceil(first.highest)};
  if (node.is("Log") && first.highest <= 1) return {-kInfinity, 0};
  return {};
}

}  // namespace relayout
