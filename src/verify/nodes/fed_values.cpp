// What readers of a value are fed in its place: a's value, one rounding of it, or random numbers.
#include "verify/nodes/fed_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/positions.h"
#include "base/random.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/compare.h"
#include "verify/computing_types.h"
#include "verify/feeding.h"
#include "verify/nodes/datum_pair.h"
#include "verify/nodes/layers.h"
#include "verify/noise.h"
#include "verify/rules.h"

namespace relayout {
namespace {

/// Edits the elements of a tensor of these types, in order; leaves any other datum as it is.
template <typename Edit>
void edit(const Datum& datum, TypeSet types, const Edit& edit_element) {
  if (datum.kind != Datum::Kind::tensor || !datum.tensor || !types.has(datum.tensor.type())) return;
  const Tensor& tensor = datum.tensor;
  if (!tensor.is_contiguous()) return;
  std::vector<double> values(as_size(tensor.element_count()));
  load(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
  for (std::size_t i = 0; i < values.size(); ++i) edit_element(i, values[i]);
  store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
}

/// Whether a linear operator makes a value, scaled and shifted by constants at most: any number may come out of it.
bool is_made_by_linear(const Value& made) {
  constexpr int kMostNodes = 8;
  const Value* value = &made;
  for (int step = 0; step < kMostNodes && value != nullptr && value->producer() != nullptr; ++step) {
    const Node& node = *value->producer();
    if (has_trait(node, Trait::multiplies)) return true;
    const auto varies = [](const Value* input) { return input != nullptr && !input->is_stored_constant(); };
    if (!has_trait(node, Trait::affine) || std::ranges::count_if(node.inputs(), varies) != 1) return false;
    value = *std::ranges::find_if(node.inputs(), varies);
  }
  return false;
}

/// Of a normal number.
double power_of_two(int exponent) {
  constexpr int kBias = 1023, kMantissa = 52;
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << kMantissa);
}

}  // namespace

void FedValues::move(const Value& value, const Datum& datum, int draw) const {
  for (const Tensor& tensor : leaves(datum)) {
    if (!tensor || unit_roundoff(tensor.type()) == 0 || unit_roundoff(tensor.type()) > coarsest_) continue;
    const Tensor moved = moved_by_one_ulp(tensor, task_->options->seed, "value " + value.name(), draw, task_->grain);
    if (moved.bytes() != tensor.bytes()) overwrite(tensor, moved);
  }
}

void FedValues::feed(const Layer& layer, const Datum& datum, const Datum& reference) const {
  if (&datum != &reference) overwrite(datum, reference);
  if (layer.leaks) return;  // other numbers would reach a part of its readers in one of both models
  if (task_->feeding == Feeding::shaken) {
    const RandomStream random(task_->options->seed, "shaken " + layer.a->name(), 0);
    const double deviation = rules::kShake * layer.yardstick.sigma();
    edit(datum, kRealTypes, [&](std::size_t i, double& value) { value += deviation * random.nearly_normal(i); });
  } else if (is_free(task_->feeding) && is_made_by_linear(*layer.a)) {
    fill(layer.a->name(), datum);
  }
}

void FedValues::fill(const std::string& name, const Datum& datum) const {
  const RandomStream random(task_->options->seed, "free " + name, 0);
  const bool is_near = task_->feeding == Feeding::near;
  const auto [lowest, highest] = is_near ? rules::kNearPowers : rules::kFarPowers;
  edit(datum, task_->plain_integers.contains(name) ? kNumericTypes : kRealTypes, [&](std::size_t i, double& value) {
    // A power of two times 1, 1.25, 1.5 or 1.75: the same number in every floating-point type. Integers are cut off, at their ends too.
    const auto exponent = static_cast<int>(std::floor(lowest + (highest - lowest) * random.uniform(2 * i)));
    const double power = power_of_two(exponent);
    const uint64_t bits = random.bits(2 * i + 1);
    value = ((bits & 4U) != 0 ? -power : power) * (1 + 0.25 * static_cast<double>(bits & 3U));
    if (is_near && (bits >> 3) % rules::kZeros == 0) value = 0;
  });
}

void FedValues::hold(const Layer& layer, const Datum& datum) const {
  const double held = unit_roundoff(layer.held);
  const bool rounds = held > unit_roundoff(type_of(datum)) && held <= unit_roundoff(task_->grain);
  if (rounds && datum.kind == Datum::Kind::tensor) overwrite(datum, through(datum, layer.held));
}

}  // namespace relayout
