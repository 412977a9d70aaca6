// Bounds the floating-point numbers that were integers before, which a 16-bit type must not turn into infinities.
#include "passes/integer_ranges.h"

#include <cmath>

#include "base/positions.h"
#include "base/text.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "passes/pass.h"
#include "passes/precision/magnitudes.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr TypeSet kCounting = kIntegerTypes | kBooleanTypes;
/// No sum has more terms where its dims are unknown.
constexpr double kMostTerms = 0x1p20;

double magnitude(const Bounds& bounds) {
  return std::max(std::fabs(bounds.lowest), std::fabs(bounds.highest));
}

bool is_finite(const Bounds& bounds) {
  return std::isfinite(bounds.lowest) && std::isfinite(bounds.highest);
}

Bounds within(double magnitude) {
  return {-magnitude, magnitude};
}

/// Whether results of an operator of one operand that varies are about as large as that where nothing tells more.
bool keeps_magnitude(const Node& node) {
  const Traits traits = traits_of(node);
  return traits.has(Trait::homogeneous) || traits.has(Trait::contracts) || traits.has(Trait::affine) || traits.has(Trait::averages) ||
         traits.has(Trait::pools) || node.is("PRelu") || node.is("Resize") || node.is("Upsample") || node.op_type().starts_with("Reduce");
}

}  // namespace

IntegerRanges::Range IntegerRanges::of(const Value& value) {
  const auto found = known_.find(&value);
  if (found != known_.end()) return found->second;
  const Bounds of_type = bounds_of_type(types_.of(value));
  Range out{of_type};
  const Node* const maker = value.producer();
  if (maker != nullptr && maker->is("If")) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    out.bounds = {kInfinity, -kInfinity};
    for (const auto& branch : maker->subgraphs()) {
      const std::size_t index = as_size(value.output_index());
      const Range inner = index < branch->outputs().size() ? of(*branch->outputs()[index]) : Range{of_type};
      out.bounds = {std::min(out.bounds.lowest, inner.bounds.lowest), std::max(out.bounds.highest, inner.bounds.highest)};
      out.was_integer = out.was_integer || inner.was_integer;
    }
  } else if (const auto constant = constants_.value(value); constant && (kNumericTypes | kBooleanTypes).has(constant->type())) {
    const Tensor dense = contiguous(*constant);
    std::vector<double> numbers(as_size(dense.element_count()));
    load(dense.type(), dense.bytes(), 1, dense.element_count(), numbers.data());
    const bool are_numbers = !numbers.empty() && std::ranges::none_of(numbers, [](double number) { return std::isnan(number); });
    if (are_numbers) out.bounds = {std::ranges::min(numbers), std::ranges::max(numbers)};
  }
  return known_.emplace(&value, out).first->second;
}

void IntegerRanges::note(const Node& node) {
  if (!node.subgraphs().empty()) return;
  const Value* const result = node.output(0);
  if (result == nullptr) return;
  if (!constants_.is_constant(*result)) known_.insert_or_assign(result, of_result(node));
  if (node.is("TopK") && node.output(1) != nullptr) known_.insert_or_assign(node.output(1), Range{of_positions(node)});
}

IntegerRanges::Range IntegerRanges::of_result(const Node& node) {
  const DataType type = types_.of(*node.output(0));
  if (node.domain().empty() && has_trait(node, Trait::makes_int64)) return {of_positions(node)};
  if (kCounting.has(type)) return {bounds_of_result(node, types_, [this](const Value& value) { return of(value).bounds; })};
  if (!node.domain().empty()) return {};
  if (node.is("Range")) return {within(kMostSize), true};
  if (has_trait(node, Trait::casts) && node.input(0) != nullptr) {
    const Range operand = of(*node.input(0));
    return {operand.bounds, operand.was_integer || kCounting.has(types_.of(*node.input(0)))};
  }
  const bool any = std::ranges::any_of(node.inputs(), [this](const Value* value) { return value != nullptr && of(*value).was_integer; });
  if (any) return combined(node);
  return {bounds_of_result(node, types_, [this](const Value& value) { return of(value).bounds; })};
}

/// Positions are within the dims of what they are in.
Bounds IntegerRanges::of_positions(const Node& node) {
  const bool is_position = node.is("ArgMax") || node.is("ArgMin") || node.is("NonZero") || node.is("TopK");
  const PartialDims dims = node.input(0) != nullptr ? constants_.dims(*node.input(0)) : std::nullopt;
  if (!dims || product_of(*dims) < 0 || dims->empty()) return within(kMostSize);
  if (node.is("Size")) return {0, static_cast<double>(product_of(*dims))};
  if (is_position || node.is("Shape")) return {0, static_cast<double>(std::ranges::max(*dims))};
  return within(kMostSize);
}

/// The result of a node that reads numbers that were integers.
IntegerRanges::Range IntegerRanges::combined(const Node& node) {
  std::optional<Range> integers;
  for (const Value* const value : node.inputs()) {
    if (value == nullptr || !of(*value).was_integer) continue;
    if (!integers || magnitude(of(*value).bounds) > magnitude(integers->bounds)) integers = of(*value);
  }
  const double largest = magnitude(integers->bounds);
  if (has_trait(node, Trait::multiplies)) {
    // Sums of products of numbers that fit are activations.
    return {within(largest), largest >= overflow_of(target_)};
  }
  if (node.is("ReduceSum") || node.is("CumSum") || node.is("ReduceL1")) return of_sum(node, *integers);
  if (node.is("Sqrt")) return {{0, std::sqrt(largest)}, true};
  const Arithmetic arithmetic = arithmetic_of(node);
  const bool scales = arithmetic == Arithmetic::multiply || arithmetic == Arithmetic::divide;
  const auto is_known = [this](const Value* value) { return value == nullptr || is_finite(of(*value).bounds); };
  if (scales && !std::ranges::all_of(node.inputs(), is_known)) return {};
  if (scales && node.input(0) == node.input(1)) return {{0, arithmetic == Arithmetic::multiply ? largest * largest : 1}, true};
  // Activations among the terms of a sum, or the elements to choose from, count as small.
  const auto bounds_of = [this](const Value& value) { return is_finite(of(value).bounds) ? of(value).bounds : Bounds{0, 0}; };
  const Bounds found = bounds_of_result(node, types_, bounds_of);
  if (is_finite(found)) return {found, true};
  return keeps_magnitude(node) ? Range{within(largest), true} : Range{};
}

IntegerRanges::Range IntegerRanges::of_sum(const Node& node, const Range& operand) {
  const PartialDims before = constants_.dims(*node.input(0)), after = constants_.dims(*node.output(0));
  const int64_t elements = before ? product_of(*before) : -1, results = after && !node.is("CumSum") ? product_of(*after) : 1;
  const double terms = elements > 0 && results > 0 ? static_cast<double>(elements) / static_cast<double>(results) : kMostTerms;
  return {within(terms * magnitude(operand.bounds)), true};
}

std::optional<Skip> IntegerRanges::harm(const Node& node, std::span<const Value* const> operands) {
  const double range = overflow_of(target_);
  const auto is_beyond = [&](const Range& found) { return found.was_integer && magnitude(found.bounds) >= range; };
  const auto skip = [&](const Value& value, const char* what) {
    return Skip{Reason::overflow, quote(value.name()) + what + std::string(name_of(target_))};
  };
  bool any = false;
  for (const Value* const value : operands) {
    const Range found = of(*value);
    if (is_beyond(found)) return skip(*value, " was integers, and nothing tells that they are within the range of ");
    any = any || found.was_integer;
  }
  const Value* const result = node.output(0);
  if (any && result != nullptr && is_beyond(of_result(node))) return skip(*result, " was integers, whose sums may leave the range of ");
  return std::nullopt;
}

}  // namespace relayout::passes
