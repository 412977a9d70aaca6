#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// Element types with the numbers of ONNX's TensorProto.DataType.
enum class DataType : int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

/// Facts about an element type. `bits` is its size in a file (4 for int4), 0 for string.
struct DataTypeTraits {
  DataType type;
  std::string_view name;  ///< short, as printed: "f32", "i64", "bool"
  int bits;
  bool is_float;
  bool is_integer;         ///< signed or unsigned integer; bool is neither
  bool is_signed = false;  ///< signed integer
  int fraction_bits = 0;   ///< bits of a float's fraction, without the leading one
};

/// Traits of a type number from a file; nullptr when the number is unknown or 0.
[[nodiscard]] const DataTypeTraits* find_traits(int64_t type_number) noexcept;
/// The type with a number; `undefined` when the number is unknown.
[[nodiscard]] DataType type_of_number(int64_t type_number) noexcept;
/// Traits of a type; `undefined` has an entry named "undefined" with 0 bits.
[[nodiscard]] const DataTypeTraits& traits(DataType type) noexcept;
[[nodiscard]] inline std::string_view name_of(DataType type) noexcept {
  return traits(type).name;
}
[[nodiscard]] inline bool is_float(DataType type) noexcept {
  return traits(type).is_float;
}

using Dims = std::vector<int64_t>;

/// Product of dims; 1 for empty dims. Throws Error{invalid} for a negative dim, and when the product exceeds int64_t.
[[nodiscard]] int64_t element_count(std::span<const int64_t> dims);
/// Bytes of `count` elements in a file (types below 8 bits packed, the last byte padded). Throws Error{invalid} on overflow.
[[nodiscard]] int64_t packed_byte_size(DataType type, int64_t count);
/// Row-major strides in elements; the last is 1. Dims of size 0 count as 1.
[[nodiscard]] Dims contiguous_strides(std::span<const int64_t> dims);
/// "[1, 3, 224, 224]"
[[nodiscard]] std::string to_string(std::span<const int64_t> dims);

}  // namespace relayout
