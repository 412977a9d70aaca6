#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "relayout/types.h"

namespace relayout {

// Kernels compute in few C++ types, here called *domains*, and convert elements on reading and writing:
//   float    f32, f16, bf16 where one operation is exact enough (+ − × ÷ √, comparisons: rounding twice changes nothing,
//            since 24 ≥ 2 · 11 + 2 bits)
//   double   all floats for more than one operation
//   int64_t  all integers of up to 64 bits except u64; the low bits equal those of two's complement arithmetic in the narrow type
//   uint64_t u64
//   uint8_t  bool, as 0 or 1
// Arithmetic with the same results in the type of the elements runs in that type: with_native_type().

/// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<DataType> types) {  // NOLINT(google-explicit-constructor)
    for (const DataType type : types) bits_ |= bit(type);
  }
  [[nodiscard]] constexpr bool has(DataType type) const { return (bits_ & bit(type)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  /// The only type; undefined when there are none or several.
  [[nodiscard]] constexpr DataType only() const {
    return std::has_single_bit(bits_) ? static_cast<DataType>(std::countr_zero(bits_)) : DataType::undefined;
  }
  [[nodiscard]] friend constexpr TypeSet operator|(TypeSet a, TypeSet b) { return TypeSet(a.bits_ | b.bits_); }

 private:
  constexpr explicit TypeSet(uint64_t bits) : bits_(bits) {}
  static constexpr uint64_t bit(DataType type) { return uint64_t{1} << static_cast<unsigned>(type); }
  uint64_t bits_ = 0;
};

inline constexpr TypeSet kRealTypes{DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16};
inline constexpr TypeSet kHalfTypes{DataType::float16, DataType::bfloat16};
inline constexpr TypeSet kSignedTypes{DataType::int8, DataType::int16, DataType::int32, DataType::int64};
inline constexpr TypeSet kUnsignedTypes{DataType::uint8, DataType::uint16, DataType::uint32, DataType::uint64};
inline constexpr TypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr TypeSet kNumericTypes = kRealTypes | kIntegerTypes;
inline constexpr TypeSet kBooleanTypes{DataType::boolean};
inline constexpr TypeSet kStringTypes{DataType::string};
inline constexpr TypeSet kSmallTypes{
    DataType::float8e4m3fn, DataType::float8e4m3fnuz, DataType::float8e5m2, DataType::float8e5m2fnuz, DataType::float4e2m1,
    DataType::float8e8m0,   DataType::uint4,          DataType::int4,       DataType::uint2,          DataType::int2};
inline constexpr TypeSet kComplexTypes{DataType::complex64, DataType::complex128};
inline constexpr TypeSet kAllTypes = kNumericTypes | kBooleanTypes | kStringTypes | kSmallTypes | kComplexTypes;
inline constexpr TypeSet kIndexTypes{DataType::int32, DataType::int64};

/// Whether each number of a type is a number of another one too: a Cast there and back changes nothing.
[[nodiscard]] inline bool holds_all(DataType wide, DataType narrow) {
  if (!(kNumericTypes | kBooleanTypes).has(narrow) || !kNumericTypes.has(wide)) return false;
  const DataTypeTraits &to = traits(wide), &from = traits(narrow);
  if (kBooleanTypes.has(narrow)) return true;
  if (from.is_float) return to.is_float && (wide == narrow || to.bits > from.bits);
  const int needed = from.bits - (from.is_signed ? 1 : 0);  // bits of the largest magnitude
  if (to.is_float) return needed <= to.fraction_bits + 1;
  return (to.is_signed || !from.is_signed) && needed <= to.bits - (to.is_signed ? 1 : 0);
}

/// Bytes between neighbouring elements in memory; memory_size() except for strings.
[[nodiscard]] inline int64_t element_stride(DataType type) {
  constexpr int64_t kBits = 8;
  return type == DataType::string ? int64_t{sizeof(std::string)} : (int64_t{traits(type).bits} + kBits - 1) / kBits;
}

/// Reads `count` elements of a type, `stride` elements apart, into a domain. Integers read as floating point round to nearest; floating
/// point read as integers truncates and saturates (NaN becomes 0). No strings, no complex numbers.
template <class Domain>
void load(DataType type, const std::byte* from, int64_t stride, int64_t count, Domain* out);
/// Writes a domain's values as elements of a type: one rounding to nearest even for floating-point types, the low bits for integers
/// from integers, truncation with saturation for integers from floating point, "is not 0" for bool. 8-bit floats saturate.
template <class Domain>
void store(DataType type, std::byte* to, int64_t stride, int64_t count, const Domain* from);

template <class Domain>
void store_one(DataType type, std::byte* to, Domain value) {
  store(type, to, 1, 1, &value);
}

/// Bits of the nearest value of a floating-point type of at most 16 bits. Out of range: the largest finite value when `saturate`, else
/// infinity or, in types without infinity, NaN (ONNX Cast 19's table).
[[nodiscard]] uint16_t encode_small_float(DataType type, double value, bool saturate);
[[nodiscard]] float decode_small_float(DataType type, uint16_t bits);

/// x / y as QuantizeLinear divides in a floating-point type: in f64, in f32, or in f32 rounded to a 16-bit type.
[[nodiscard]] double quotient(DataType type, double x, double y);

/// The type whose memory is an array of T. uint8_t is u8, not bool: a bool of a file may hold any byte.
template <class T>
inline constexpr DataType kNativeType = [] {
  using enum DataType;
  constexpr DataType kSigned[] = {int8, int16, int32, int64}, kUnsigned[] = {uint8, uint16, uint32, uint64};
  constexpr int kSize = std::bit_width(sizeof(T)) - 1;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) return sizeof(T) == sizeof(float) ? float32 : float64;
  if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) return undefined;
  return std::is_signed_v<T> ? kSigned[kSize] : kUnsigned[kSize];
}();

/// Whether memory of this type is an array of T.
template <class T>
[[nodiscard]] constexpr bool is_native(DataType type) {
  return type == kNativeType<T>;
}

/// Whether load() and store() convert to and from T.
template <class T>
inline constexpr bool kIsDomain = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t> ||
                                  std::is_same_v<T, uint64_t> || std::is_same_v<T, uint8_t>;

/// One element, as load() converts it, or copied from an array of T.
template <class T>
[[nodiscard]] T load_one(DataType type, const std::byte* from) {
  T out{};
  if (is_native<T>(type)) {
    std::memcpy(&out, from, sizeof out);
  } else if constexpr (kIsDomain<T>) {
    load(type, from, 1, 1, &out);
  }
  return out;
}

/// Calls f(Domain{}) with the domain in which single operations on `type` are exact enough: float for f32 and narrower, double, int64_t,
/// uint64_t.
template <class F>
decltype(auto) with_exact_domain(DataType type, F&& f) {
  switch (type) {
    case DataType::float64:
      return f(double{});
    case DataType::uint64:
      return f(uint64_t{});
    case DataType::float32:
    case DataType::float16:
    case DataType::bfloat16:
      return f(float{});
    default:
      return traits(type).is_float ? f(float{}) : f(int64_t{});
  }
}

/// As with_exact_domain, but integers of at most 32 bits in their memory type.
template <class F>
decltype(auto) with_native_type(DataType type, F&& f) {
  switch (type) {
    case DataType::int8:
      return f(int8_t{});
    case DataType::uint8:
      return f(uint8_t{});
    case DataType::int16:
      return f(int16_t{});
    case DataType::uint16:
      return f(uint16_t{});
    case DataType::int32:
      return f(int32_t{});
    case DataType::uint32:
      return f(uint32_t{});
    default:
      return with_exact_domain(type, std::forward<F>(f));
  }
}

/// As with_exact_domain, with double for all floats: for sums and other functions that round more than once.
template <class F>
decltype(auto) with_wide_domain(DataType type, F&& f) {
  if (type == DataType::uint64) return f(uint64_t{});
  return traits(type).is_float ? f(double{}) : f(int64_t{});
}

/// 16 bytes moved at once.
struct Block16 {
  uint64_t halves[2];
};

/// Calls f(T{}) with a type of the element's size, for kernels that only move elements.
template <class F>
decltype(auto) with_storage(DataType type, F&& f) {
  if (type == DataType::string) return f(std::string{});
  switch (element_stride(type)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Block16{});
  }
}

}  // namespace relayout
