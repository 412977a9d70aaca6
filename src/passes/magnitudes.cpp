// Which nodes --precision keeps in 32 bits since large constants (attention masks) reach them: beyond the range of the 16-bit type, in sums
// beyond half of it ("whose sums may leave the range"). Masks are built from them ((1 − mask) · −3.4e38, Where, ConstantOfShape, Expand).
// The values that pass them to a Softmax must not be rounded to a type in which they are infinite: a row that is all −∞ becomes NaN.

#include "passes/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "passes/match.h"
#include "passes/rounding.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Whether the node's results may be as large as this input.
bool passes_on(const Node& node, std::size_t input) {
  const Traits traits = traits_of(node);
  if (traits.moves_input(input)) return true;
  if (traits.has(Trait::casts)) return input == 0;
  switch (traits.arithmetic()) {
    case Arithmetic::none:
      return node.is("Abs") || node.is("ScatterElements") || node.is("ScatterND");
    case Arithmetic::divide:
      return input == 0;
    case Arithmetic::minimum:
    case Arithmetic::maximum:
      return !node.input(input)->is_stored_constant();  // Max(x, −3.4e38) bounds x and is not large itself
    default:
      return true;
  }
}

}  // namespace

double Magnitudes::of(const Value& value) const {
  if (value.is_stored_constant()) {
    const auto rounding = TypeSet{DataType::float32, DataType::float64}.has(types_.of(value)) ? numbers_.rounding(value) : std::nullopt;
    return rounding ? rounding->largest : 0;
  }
  const auto found = known_.find(&value);
  return found != known_.end() ? found->second : 0;
}

void Magnitudes::note(const Node& node) {
  double largest = node.is("ConstantOfShape") ? std::fabs(fill_of(node).value_or(0)) : 0;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    if (value != nullptr && passes_on(node, i)) largest = std::max(largest, of(*value));
  }
  if (largest == 0 || !std::isfinite(largest)) return;
  for (const Value* const output : node.outputs()) {
    if (output != nullptr) known_[output] = largest;
  }
}

std::optional<Skip> Magnitudes::harm(const Node& node, std::span<const Value* const> operands) const {
  // A score of −20 plus a mask of −65504 is −65524, beyond the range of float16: each term may use half of the range.
  const double range = overflow_of(target_);
  const Arithmetic arithmetic = arithmetic_of(node);
  const double room = arithmetic == Arithmetic::add || arithmetic == Arithmetic::subtract ? range / 2 : range;
  for (const Value* const value : operands) {
    const double magnitude = of(*value);
    if (magnitude < room) continue;
    return Skip{Reason::overflow, quote(value->name()) +
                                      (magnitude < range ? " holds a constant whose sums may leave" : " holds a constant beyond") +
                                      " the range of " + std::string(name_of(target_))};
  }
  return std::nullopt;
}

}  // namespace relayout::passes
