// Moves the weights and inputs of a model by one ULP at random, each in the type that it is rounded to.
// The distance between two such runs shows by how much correct evaluations may differ.
#include "verify/run/noise.h"

#include <cmath>

#include "base/positions.h"
#include "base/random.h"
#include "base/vectorize.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/run/quantizer.h"

namespace relayout {
namespace {

/// Whether no correct evaluation rounds an operand; that includes the operand of a Cast to integers.
bool is_exact_operand(const Node& node, std::size_t index) {
  if (!node.is("Cast")) return traits_of(node).is_taken_exactly(index);
  const DataTypeTraits* const to = find_traits(Attributes(node).integer("to", 0));
  return to == nullptr || !to->is_float;
}

/// Marks the constants whose elements `value` holds, rearranged or cast.
void mark_exact(const Value* value, std::unordered_set<std::string>& exact, std::unordered_set<const Value*>& seen) {
  std::vector<const Value*> pending{value};
  while (!pending.empty()) {
    const Value* const at = pending.back();
    pending.pop_back();
    if (at == nullptr || !seen.insert(at).second) continue;
    const Node* const producer = at->producer();
    if (at->initializer() != nullptr || (producer != nullptr && (producer->is("Constant") || producer->is("ConstantOfShape")))) {
      exact.insert(at->name());
    } else if (producer != nullptr) {
      const Traits traits = traits_of(*producer);
      for (std::size_t i = 0; i < producer->inputs().size(); ++i) {
        if (traits.moves_input(i) || (traits.has(Trait::casts) && i == 0)) pending.push_back(producer->input(i));
      }
    }
  }
}

/// Whole numbers and powers of two are structure (a factor of 2, a divisor of 16), not weights.
bool is_structural(double value) {
  int exponent = 0;
  return value == std::trunc(value) || std::fabs(std::frexp(value, &exponent)) == 0.5;
}

/// Whether the value of a ConstantOfShape is a mask or an initial state, not a weight.
bool fills_with_structure(const Node& node) {
  const auto fill = fill_of(node);
  return !fill || is_structural(*fill);
}

/// Directions in one random number.
constexpr int64_t kDirections = 64;

/// Moves magnitudes of sign-magnitude numbers by one; never to zero and never to infinity.
template <class Bits>
[[gnu::always_inline]] inline void move_bits(Bits* bits, int64_t count, Bits infinity, const RandomStream& random) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (int64_t first = 0; first < count; first += kDirections) {
    const uint64_t directions = random.bits(static_cast<uint64_t>(first / kDirections));
    Bits* const block = bits + first;
    for (int64_t i = 0; i < std::min(kDirections, count - first); ++i) {
      const auto magnitude = static_cast<Bits>(block[i] & ~kSign);
      const auto moved = static_cast<Bits>(magnitude + 2 * static_cast<Bits>(directions >> i & 1U) - 1);
      const bool stays = (magnitude == 0) | (magnitude >= infinity) | (moved == 0) | (moved == infinity);
      block[i] = stays ? block[i] : static_cast<Bits>((block[i] & kSign) | moved);
    }
  }
}

/// Vectorized, as most weights are float32.
RELAYOUT_VECTORIZE void move_singles(uint32_t* bits, int64_t count, const RandomStream& random) {
  move_bits<uint32_t>(bits, count, 0x7F800000U, random);
}

/// Moves elements by one ULP of a coarser type, which is `epsilon` of a power of two, and of `least` below that; zeros and elements that
/// are not finite stay.
template <class T, class Bits>
[[gnu::always_inline]] inline void move_in_grain(T* values, int64_t count, T epsilon, T least, const RandomStream& random) {
  constexpr auto kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  const auto lowest = std::bit_cast<Bits>(least);
  for (int64_t first = 0; first < count; first += kDirections) {
    const uint64_t directions = random.bits(static_cast<uint64_t>(first / kDirections));
    T* const block = values + first;
    for (int64_t i = 0; i < std::min(kDirections, count - first); ++i) {
      const T value = block[i];
      const auto exponent = static_cast<Bits>(std::bit_cast<Bits>(value) & kInfinity);
      const T step = std::bit_cast<T>(std::max(exponent, lowest)) * epsilon;
      const T moved = value + ((directions >> i & 1U) != 0 ? step : -step);
      block[i] = ((value == 0) | (exponent == kInfinity)) ? value : moved;
    }
  }
}

RELAYOUT_VECTORIZE void move_singles_in_grain(float* values, int64_t count, float epsilon, float least, const RandomStream& random) {
  move_in_grain<float, uint32_t>(values, count, epsilon, least, random);
}

/// Moves the elements of a tensor of 32 or 64 bits by one ULP of a type of 16.
void move_in_grain(Tensor& tensor, DataType grain, const RandomStream& random) {
  const bool is_half = grain == DataType::float16;
  const float epsilon = is_half ? 0x1p-10F : 0x1p-7F, least = is_half ? 0x1p-14F : 0x1p-126F;
  const int64_t count = tensor.element_count();
  if (tensor.type() == DataType::float32) return move_singles_in_grain(tensor.data<float>(), count, epsilon, least, random);
  move_in_grain<double, uint64_t>(tensor.data<double>(), count, epsilon, least, random);
}

}  // namespace

void overwrite(const Tensor& to, const Tensor& from) {
  const int64_t count = to.element_count();
  if (to.type() == DataType::string) {
    std::copy_n(from.data<std::string>(), count, to.data<std::string>());
  } else {
    std::memcpy(to.bytes(), from.bytes(), as_size(count) * memory_size(to.type()));
  }
}

WeightNoise::WeightNoise(const Graph& graph) {
  std::unordered_set<const Value*> seen;
  for_each_node(graph.model(), [&](const Node& node) {
    quantized_ = quantized_ || quantizes(node);
    if (node.is("ConstantOfShape") && node.output(0) != nullptr && fills_with_structure(node)) exact_.insert(node.output(0)->name());
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (is_exact_operand(node, i)) mark_exact(node.input(i), exact_, seen);
    }
  });
}

std::function<void(const std::string&, Tensor&)> WeightNoise::draw(uint64_t seed, int number, DataType grain) const {
  return [this, seed, number, grain](const std::string& name, Tensor& tensor) {
    if (moves(name)) tensor = moved_by_one_ulp(tensor, seed, name, number, grain);
  };
}

void WeightNoise::apply(ExecuteOptions& options, int number, DataType grain) const {
  const uint64_t seed = options.seed;
  options.edit_constant = draw(seed, number, grain);
  if (!quantized_) return;
  options.observe = [seed, number, grain, watch = std::move(options.observe)](const Node& node, const std::vector<Datum>& outputs) {
    if (node.is("DequantizeLinear") && outputs.front().tensor && outputs.front().tensor.is_contiguous()) {
      const Tensor& result = outputs.front().tensor;
      const Tensor moved = moved_by_one_ulp(result, seed, "value " + node.output(0)->name(), number, grain);
      if (moved.bytes() != result.bytes()) overwrite(result, moved);
    }
    if (watch) watch(node, outputs);
  };
}

Inputs WeightNoise::inputs(Inputs given, uint64_t seed, int number, DataType grain) const {
  if (!quantized_) return given;
  for (auto& [name, datum] : given) {
    if (datum.kind == Datum::Kind::tensor && datum.tensor)
      datum.tensor = moved_by_one_ulp(datum.tensor, seed, "input " + name, number, grain);
  }
  return given;
}

Tensor moved_by_one_ulp(const Tensor& tensor, uint64_t seed, const std::string& name, int number, DataType grain) {
  if (!kRealTypes.has(tensor.type()) || tensor.element_count() == 0) return tensor;
  const int64_t count = tensor.element_count();
  if (count == 1 && is_structural(load_one<double>(tensor.type(), tensor.bytes()))) return tensor;
  const Tensor dense = contiguous(tensor);
  Tensor out(dense.type(), dense.dims());
  std::memcpy(out.bytes(), dense.bytes(), as_size(count) * memory_size(dense.type()));
  const RandomStream random(seed, "noise of " + name, static_cast<uint64_t>(number));
  if (traits(grain).bits == 16 && traits(out.type()).bits > 16) {
    move_in_grain(out, grain, random);
    return out;
  }
  switch (out.type()) {
    case DataType::float64:
      move_bits<uint64_t>(out.data<uint64_t>(), count, 0x7FF0000000000000ULL, random);
      break;
    case DataType::float32:
      move_singles(out.data<uint32_t>(), count, random);
      break;
    case DataType::float16:
      move_bits<uint16_t>(out.data<uint16_t>(), count, 0x7C00U, random);
      break;
    default:
      move_bits<uint16_t>(out.data<uint16_t>(), count, 0x7F80U, random);
      break;
  }
  return out;
}

}  // namespace relayout
