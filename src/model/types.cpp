// Names element types, and computes with dims: counts, sizes and strides, with errors where they overflow.
#include "relayout/types.h"

#include <array>

#include "base/positions.h"
#include "relayout/error.h"

namespace relayout {
namespace {

using enum DataType;

/// By number; sizes and fractions from ONNX's TensorProto.DataType.
constexpr auto kTypes = std::to_array<DataTypeTraits>({
    {undefined, "undefined", 0, false, false},
    {float32, "f32", 32, true, false, false, 23},
    {uint8, "u8", 8, false, true},
    {int8, "i8", 8, false, true, true},
    {uint16, "u16", 16, false, true},
    {int16, "i16", 16, false, true, true},
    {int32, "i32", 32, false, true, true},
    {int64, "i64", 64, false, true, true},
    {string, "string", 0, false, false},
    {boolean, "bool", 8, false, false},
    {float16, "f16", 16, true, false, false, 10},
    {float64, "f64", 64, true, false, false, 52},
    {uint32, "u32", 32, false, true},
    {uint64, "u64", 64, false, true},
    {complex64, "c64", 64, false, false},
    {complex128, "c128", 128, false, false},
    {bfloat16, "bf16", 16, true, false, false, 7},
    {float8e4m3fn, "f8e4m3fn", 8, true, false, false, 3},
    {float8e4m3fnuz, "f8e4m3fnuz", 8, true, false, false, 3},
    {float8e5m2, "f8e5m2", 8, true, false, false, 2},
    {float8e5m2fnuz, "f8e5m2fnuz", 8, true, false, false, 2},
    {uint4, "u4", 4, false, true},
    {int4, "i4", 4, false, true, true},
    {float4e2m1, "f4e2m1", 4, true, false, false, 1},
    {float8e8m0, "f8e8m0", 8, true, false},
    {uint2, "u2", 2, false, true},
    {int2, "i2", 2, false, true, true},
});

constexpr bool numbered() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(numbered());

}  // namespace

const DataTypeTraits* find_traits(int64_t type_number) noexcept {
  return type_number > 0 && type_number < std::ssize(kTypes) ? &kTypes[as_size(type_number)] : nullptr;
}

DataType type_of_number(int64_t type_number) noexcept {
  const DataTypeTraits* const known = find_traits(type_number);
  return known != nullptr ? known->type : DataType::undefined;
}

const DataTypeTraits& traits(DataType type) noexcept {
  return kTypes[static_cast<std::size_t>(type)];
}

int64_t element_count(std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) fail(ErrorKind::invalid, "negative dimension in " + to_string(dims));
    if (dim == 0) {
      empty = true;
      continue;
    }
    const auto product = checked_mul(count, dim);
    if (!product) fail(ErrorKind::invalid, "dims " + to_string(dims) + " are beyond 2^63 elements");
    count = *product;
  }
  return empty ? 0 : count;
}

int64_t packed_byte_size(DataType type, int64_t count) {
  const auto bits = checked_mul<int64_t>(count, traits(type).bits);
  if (!bits || *bits > INT64_MAX - 7) fail(ErrorKind::invalid, "a tensor of " + std::to_string(count) + " elements is beyond 2^63 bits");
  return (*bits + 7) / 8;
}

Dims contiguous_strides(std::span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  return strides;
}

std::string to_string(std::span<const int64_t> dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return out + "]";
}

}  // namespace relayout
