// Elements of weights as doubles, for sums and biases of folds; rounds a new bias once (weights: model/float_elements); the spacing (ULP)
// of a type.

#include "passes/widening.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/unaligned.h"
#include "model/bytes.h"
#include "model/float_elements.h"
#include "model/tensor_data.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {

void widen(DataType type, std::span<const std::byte> bytes, std::span<double> out) {
  with_format(type, [&]<class Format>(Format) {
    const auto* const elements = reinterpret_cast<const Unaligned<typename Format::Bits>*>(bytes.data());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Format::load(elements[i].value);
  });
}

double sum_of(DataType type, std::span<const std::byte> bytes) {
  return with_format(type, [&]<class Format>(Format) {
    const auto* const elements = reinterpret_cast<const Unaligned<typename Format::Bits>*>(bytes.data());
    double sum = 0;
    for (std::size_t i = 0; i < bytes.size() / sizeof(typename Format::Bits); ++i) sum += Format::load(elements[i].value);
    return sum;
  });
}

double spacing_at(DataType type, double magnitude) noexcept {
  const int lowest = std::ilogb(smallest_normal(type));
  return std::ldexp(1.0, std::max(magnitude > 0 ? std::ilogb(magnitude) : lowest, lowest) - traits(type).fraction_bits);
}

TensorData from_doubles(DataType type, Dims dims, std::span<const double> values) {
  std::vector<std::byte> bytes(values.size() * memory_size(type));
  with_format(type, [&]<class Format>(Format) {
    auto* const elements = reinterpret_cast<Unaligned<typename Format::Bits>*>(bytes.data());
    for (std::size_t i = 0; i < values.size(); ++i) elements[i].value = Format::store(values[i]);
  });
  return {type, std::move(dims), Bytes::owned(std::move(bytes))};
}

}  // namespace relayout::passes
