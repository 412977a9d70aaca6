// Large constants followed through the graph for --precision, such as those of attention masks, to the sums that would become infinite in
// 16 bits. Masks are built from them ((1 − mask) · −3.4e38, Where, ConstantOfShape, Expand). The values that pass them to a Softmax must
// not be rounded to a type in which they are infinite: a row that is all −∞ becomes NaN.

#include "passes/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ops/constants.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"

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
  if (value.is_stored_constant()) return largest_(value);
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

}  // namespace relayout::passes
