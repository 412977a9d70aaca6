// Lower and upper bounds of a model's values from constants, types and masks, and through nodes by the rules of ops/bounds.cpp (a Sigmoid
// is never below 0).
#include "verify/nodes/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/bounds.h"
#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout {

ValueBounds::ValueBounds(const Graph& graph, std::set<std::string> masks, std::set<std::string> kept)
    : types_(graph, signatures_), masks_(std::move(masks)), kept_(std::move(kept)) {}

Bounds ValueBounds::of(const Value& value) {
  const auto found = known_.find(&value);
  if (found != known_.end()) return found->second;
  constexpr int kDeepest = 200;
  if (depth_ >= kDeepest) return bounds_of_type(types_.of(value));
  ++depth_;
  const Bounds bounds = find(value);
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
  if (value.output_index() != 0) return bounds_of_type(types_.of(value));
  return bounds_of_result(*value.producer(), types_, [this](const Value& operand) { return of(operand); });
}

Bounds ValueBounds::of_input(const Value& value) const {
  if (masks_.contains(value.name())) return {0, 1};
  const Bounds of_type = bounds_of_type(types_.of(value));
  return kept_.contains(value.name()) ? meet({-kMostSize, kMostSize - 1}, of_type) : of_type;
}

}  // namespace relayout
