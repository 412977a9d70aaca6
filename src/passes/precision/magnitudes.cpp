// Finds the nodes and constants that leave the range of a 16-bit type, which therefore keep 32 bits.
// Masks are built from large constants ((1 − mask) · −3.4e38, Where, ConstantOfShape, Expand). The values that pass them to a Softmax
// must not be rounded to a type in which they are infinite: a row that is all −∞ becomes NaN.
#include "passes/precision/magnitudes.h"

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/float_elements.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
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

// Constants that do not fit by their own elements.

bool ConstantNumbers::depends_on_run(const Node& node) const {
  return std::ranges::any_of(node.inputs(), [&](const Value* value) {
    return value != nullptr && !value->is_stored_constant() && (!made_.contains(value) || chosen_.contains(value));
  });
}

void ConstantNumbers::note_constant(const Node& node) {
  const bool is_chosen = depends_on_run(node);
  for (const Value* output : node.outputs()) {
    if (output == nullptr) continue;
    made_.insert(output);
    if (is_chosen) chosen_.insert(output);
  }
}

std::optional<Rounding> ConstantNumbers::rounding(const Value& value) {
  const auto [entry, is_new] = roundings_.try_emplace(&value);
  if (!is_new) return entry->second;
  const auto found = constants_.find(value);
  const auto* const constant = std::get_if<Constant>(&found);
  if (constant != nullptr && constant->type != DataType::string) entry->second = rounding_of(constant->data, target_);
  return entry->second;
}

std::optional<Skip> ConstantNumbers::harm(std::span<const Value* const> operands) {
  for (const Value* const value : operands) {
    const auto found = is_constant(*value) ? rounding(*value) : std::nullopt;
    if (!found) continue;
    if (found->infinite > 0) {
      return Skip{Reason::overflow, quote(value->name()) + ": " + format_count(found->infinite) + " of " + format_count(found->count) +
                                        " beyond the range of " + std::string(name_of(target_))};
    }
    if (found->vanishes()) return Skip{Reason::underflow, quote(value->name()) + " vanishes in " + std::string(name_of(target_))};
  }
  return std::nullopt;
}

// Elements of a weight that a type cannot hold.
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;  ///< bytes read at once

/// Magnitudes that matter for a type of at most 32 bits.
struct Limits {
  double overflow;   ///< from here on rounds to infinity
  double normal;     ///< smallest number with all bits
  double vanishing;  ///< up to here rounds to 0: half of the smallest number, ties to even
};

Limits limits_of(DataType type) {
  const double normal = smallest_normal(type), half_unit = std::ldexp(0.5, -traits(type).fraction_bits);
  return {(2 - half_unit) * 2 / normal, normal, normal * half_unit};
}

void note(Rounding& out, const Limits& limits, double value) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0 || !std::isfinite(magnitude)) return;
  out.largest = std::max(out.largest, magnitude);
  if (magnitude >= limits.overflow) {
    ++out.infinite;
  } else if (magnitude >= limits.normal) {
    ++out.normal;
  } else {
    ++(magnitude <= limits.vanishing ? out.zero : out.subnormal);
  }
}

}  // namespace

double overflow_of(DataType type) {
  return limits_of(type).overflow;
}

Rounding rounding_of(const TensorData& data, DataType type) {
  Rounding out;
  out.count = element_count(data.dims());
  if (out.count == 0) return out;
  const Limits limits = limits_of(type);
  const auto size = static_cast<int64_t>(memory_size(data.type()));
  const int64_t rows = data.dims().empty() ? 1 : data.dims()[0];
  const int64_t row_size = data.byte_size() / rows;
  std::vector<double> values;
  const auto look = [&](int64_t /*offset*/, std::span<const std::byte> bytes) {
    const int64_t count = static_cast<int64_t>(bytes.size()) / size;
    values.resize(as_size(count));
    load(data.type(), bytes.data(), 1, count, values.data());
    for (const double value : values) note(out, limits, value);
  };
  if (row_size > kPiece) {
    for (int64_t row = 0; row < rows; ++row) data.read_row_in_pieces(row, look);
    return out;
  }
  const int64_t together = std::clamp<int64_t>(kPiece / row_size, 1, rows);
  std::vector<std::byte> bytes(as_size(together * row_size));
  for (int64_t row = 0; row < rows; row += together) {
    const int64_t count = std::min(together, rows - row);
    const std::span<std::byte> part = std::span(bytes).first(as_size(count * row_size));
    data.read_rows(row, count, part);
    look(0, part);
  }
  return out;
}

}  // namespace relayout::passes
