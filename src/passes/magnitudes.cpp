// Follows large constants through a graph. Masks are made of them ((1 − mask) · −3.4e38, Where, ConstantOfShape, Expand), and what holds
// them on the way to a Softmax must not be rounded to a type in which they are infinite: a row that is all −∞ becomes NaN.

#include "passes/magnitudes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "model/attributes.h"
#include "model/origin.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout {
namespace {

/// Operators of the default domain whose results are as large as the operands up to `last`, sorted by name; beside those that move or cast.
struct Arithmetic {
  std::string_view op;
  std::size_t last;
};
constexpr std::size_t kAll = static_cast<std::size_t>(-1);
constexpr auto kArithmetic = std::to_array<Arithmetic>({
    {"Abs", 0},
    {"Add", 1},
    {"Div", 0},
    {"Max", kAll},
    {"Mean", kAll},
    {"Min", kAll},
    {"Mul", 1},
    {"Neg", 0},
    {"ScatterElements", 2},
    {"ScatterND", 2},
    {"Sub", 1},
    {"Sum", kAll},
});
static_assert(std::ranges::is_sorted(kArithmetic, {}, &Arithmetic::op));

bool passes_on(const Node& node, std::size_t input) {
  const Traits traits = traits_of(node);
  if (traits.moves_input(input)) return true;
  if (traits.has(Trait::casts)) return input == 0;
  const auto* const found = std::ranges::lower_bound(kArithmetic, std::string_view(node.op_type()), {}, &Arithmetic::op);
  if (!node.domain().empty() || found == kArithmetic.end() || found->op != node.op_type() || input > found->last) return false;
  // Max(x, −3.4e38) bounds x and is not large itself.
  return !(node.is("Max") || node.is("Min")) || !node.input(input)->is_stored_constant();
}

/// What a ConstantOfShape is full of.
double fill_of(const Node& node) {
  const onnx::TensorProto* const value = Attributes(node).tensor("value");
  if (value == nullptr) return 0;
  const Tensor one = load_tensor(node.graph().model(), *value);
  return one.element_count() == 1 && kRealTypes.has(one.type()) ? std::fabs(load_one<double>(one.type(), one.bytes())) : 0;
}

}  // namespace

double Magnitudes::of(const Value& value) const {
  if (value.is_stored_constant()) return largest_(value);
  const auto found = known_.find(&value);
  return found != known_.end() ? found->second : 0;
}

void Magnitudes::note(const Node& node) {
  double largest = node.is("ConstantOfShape") ? fill_of(node) : 0;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    if (value != nullptr && passes_on(node, i)) largest = std::max(largest, of(*value));
  }
  if (largest == 0 || !std::isfinite(largest)) return;
  for (const Value* const output : node.outputs()) {
    if (output != nullptr) known_[output] = largest;
  }
}

}  // namespace relayout
