// Reads, scales and rounds the floating-point elements of weights, always with one rounding.
#include "model/float_elements.h"

#include <limits>

#include "base/half.h"
#include "base/vectorize.h"
#include "model/tensor_data.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Compares bits: magnitudes are ordered as their bits without the sign, and non-finite values begin at `infinity`. Signed comparison has
/// vector instructions on all targets and gives the same order without the sign bit.
template <class Signed, class Bits>
[[gnu::always_inline]] inline Bits largest_bits(const Unaligned<Bits>* elements, std::size_t count, Bits infinity) {
  Signed largest = 0;
  constexpr auto kMagnitude = static_cast<Bits>(std::numeric_limits<Signed>::max());
  for (std::size_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<Signed>(elements[i].value & kMagnitude);
    const Signed finite = magnitude < static_cast<Signed>(infinity) ? magnitude : Signed{0};
    largest = finite > largest ? finite : largest;
  }
  return static_cast<Bits>(largest);
}

RELAYOUT_VECTORIZE uint32_t largest_single(const Unaligned<uint32_t>* elements, std::size_t count) {
  return largest_bits<int32_t>(elements, count, uint32_t{0x7F800000U});
}

RELAYOUT_VECTORIZE uint64_t largest_double(const Unaligned<uint64_t>* elements, std::size_t count) {
  return largest_bits<int64_t>(elements, count, uint64_t{0x7FF0000000000000U});
}

RELAYOUT_VECTORIZE uint16_t largest_of_16_bits(const Unaligned<uint16_t>* elements, std::size_t count, uint16_t infinity) {
  return largest_bits<int16_t>(elements, count, infinity);
}

/// The loop for most weights. `in` may be `out`: each element is read before it is written.
RELAYOUT_VECTORIZE void multiply_singles(const Unaligned<float>* in, Unaligned<float>* out, int64_t count, double factor) {
  RELAYOUT_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i].value = static_cast<float>(static_cast<double>(in[i].value) * factor);
}

}  // namespace

bool is_scalable(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 || type == DataType::bfloat16;
}

double rounded(DataType type, double value) noexcept {
  return with_format(type, [&]<class Format>(Format) { return Format::load(Format::store(value)); });
}

double smallest_normal(DataType type) noexcept {
  const int exponent_bits = traits(type).bits - 1 - traits(type).fraction_bits;
  return std::ldexp(1.0, 2 - (1 << (exponent_bits - 1)));
}

double largest_magnitude(DataType type, std::span<const std::byte> bytes) {
  const std::size_t count = bytes.size() / memory_size(type);
  const auto* const words = reinterpret_cast<const Unaligned<uint16_t>*>(bytes.data());
  switch (type) {
    case DataType::float32:
      return static_cast<double>(std::bit_cast<float>(largest_single(reinterpret_cast<const Unaligned<uint32_t>*>(bytes.data()), count)));
    case DataType::float64:
      return std::bit_cast<double>(largest_double(reinterpret_cast<const Unaligned<uint64_t>*>(bytes.data()), count));
    case DataType::float16:
      return static_cast<double>(half_to_float(largest_of_16_bits(words, count, 0x7C00U)));
    default:
      return static_cast<double>(bfloat16_to_float(largest_of_16_bits(words, count, 0x7F80U)));
  }
}

void ChannelRange::note(double found, double factor) {
  magnitude = std::max(magnitude, found);
  product = std::max(product, found * std::fabs(factor));
  has_factor = has_factor || factor != 0;
}

void ChannelRange::note(const ChannelRange& other) {
  magnitude = std::max(magnitude, other.magnitude);
  product = std::max(product, other.product);
  has_factor = has_factor || other.has_factor;
}

bool ChannelRange::overflows(DataType type) const noexcept {
  return std::isinf(rounded(type, product));
}

bool ChannelRange::vanishes(DataType type) const noexcept {
  return magnitude >= smallest_normal(type) && has_factor && rounded(type, product) < smallest_normal(type);
}

void multiply(DataType source, const std::byte* from, DataType type, std::byte* to, int64_t count, double factor) {
  if (source == DataType::float32 && type == DataType::float32) {
    return multiply_singles(reinterpret_cast<const Unaligned<float>*>(from), reinterpret_cast<Unaligned<float>*>(to), count, factor);
  }
  with_format(source, [&]<class Source>(Source) {
    with_format(type, [&]<class Target>(Target) {
      const auto* const in = reinterpret_cast<const Unaligned<typename Source::Bits>*>(from);
      auto* const out = reinterpret_cast<Unaligned<typename Target::Bits>*>(to);
      for (int64_t i = 0; i < count; ++i) out[i].value = Target::store(Source::load(in[i].value) * factor);
    });
  });
}

void to_doubles(DataType type, std::span<const std::byte> bytes, std::span<double> out) {
  with_format(type, [&]<class Format>(Format) {
    const auto* const elements = reinterpret_cast<const Unaligned<typename Format::Bits>*>(bytes.data());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Format::load(elements[i].value);
  });
}

TensorData from_doubles(DataType type, Dims dims, std::span<const double> values) {
  std::vector<std::byte> bytes(values.size() * memory_size(type));
  with_format(type, [&]<class Format>(Format) {
    auto* const elements = reinterpret_cast<Unaligned<typename Format::Bits>*>(bytes.data());
    for (std::size_t i = 0; i < values.size(); ++i) elements[i].value = Format::store(values[i]);
  });
  return {type, std::move(dims), Bytes::owned(std::move(bytes))};
}

double sum_of_elements(DataType type, std::span<const std::byte> bytes) {
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

}  // namespace relayout
