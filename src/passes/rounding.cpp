// Counts how many elements of a weight overflow, become 0 or become subnormal in a 16-bit type (--precision), with the limits of each type.

#include "passes/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/positions.h"
#include "model/float_elements.h"
#include "model/tensor_data.h"
#include "ops/loops/dtypes.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
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
