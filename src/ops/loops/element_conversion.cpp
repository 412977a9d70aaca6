// Converts lines of elements between the types of C++ in loops that the compiler vectorizes.

#include "ops/loops/element_conversion.h"

#include <array>
#include <type_traits>

#include "base/positions.h"
#include "base/vectorize.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// A bool in memory: any byte that is not 0 is true.
struct Truth {
  uint8_t byte;
};

template <class To, class From>
[[gnu::always_inline]] inline To converted(From value) {
  if constexpr (std::is_same_v<From, Truth>)
    return value.byte != 0 ? converted<To>(uint8_t{1}) : To{};
  else if constexpr (std::is_same_v<To, Truth>)
    return Truth{static_cast<uint8_t>(value != From{})};
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return truncate<To>(value);
  else
    return static_cast<To>(value);
}

template <class From, class To>
RELAYOUT_VECTORIZE void convert_elements(const From* from, To* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = converted<To>(from[i]);
}

template <class T>
struct BitsOf {
  using Type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct BitsOf<T> {
  using Type = std::make_unsigned_t<T>;
};

using Run = void (*)(const std::byte* from, std::byte* to, int64_t count);

/// Between integers, signedness matters only when a narrower one is extended: the other conversions share their loops.
template <class From, class To>
void run(const std::byte* from, std::byte* to, int64_t count) {
  constexpr bool kIntegers = std::is_integral_v<From> && std::is_integral_v<To>;
  using Read = std::conditional_t<kIntegers && sizeof(From) >= sizeof(To), typename BitsOf<From>::Type, From>;
  using Written = std::conditional_t<kIntegers, typename BitsOf<To>::Type, To>;
  convert_elements(reinterpret_cast<const Read*>(from), reinterpret_cast<Written*>(to), count);
}

template <class... Types>
struct List {
  template <class From>
  static constexpr std::array<Run, sizeof...(Types)> row() {
    return {run<From, Types>...};
  }
  static constexpr std::array<std::array<Run, sizeof...(Types)>, sizeof...(Types)> table() { return {row<Types>()...}; }
};

/// In the order of place_of().
using Types = List<float, double, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Truth>;

int place_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return 0;
    case DataType::float64:
      return 1;
    case DataType::uint8:
      return 2;
    case DataType::int8:
      return 3;
    case DataType::uint16:
      return 4;
    case DataType::int16:
      return 5;
    case DataType::uint32:
      return 6;
    case DataType::int32:
      return 7;
    case DataType::uint64:
      return 8;
    case DataType::int64:
      return 9;
    case DataType::boolean:
      return 10;
    default:
      return -1;
  }
}

}  // namespace

bool convert_run(DataType from_type, const std::byte* from, DataType to_type, std::byte* to, int64_t count) {
  static constexpr auto kTable = Types::table();
  const int source = place_of(from_type), target = place_of(to_type);
  if (source < 0 || target < 0) return false;
  kTable[as_size(source)][as_size(target)](from, to, count);
  return true;
}

}  // namespace relayout
