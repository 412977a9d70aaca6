// Converts elements of every type to and from the types in which kernels compute.

#include "ops/loops/dtypes.h"

#include <array>

#include "base/half.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "ops/loops/element_conversion.h"
#include "relayout/types.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define RELAYOUT_F16C __attribute__((target("avx,f16c")))
#include <immintrin.h>
#endif

namespace relayout {
namespace {

/// The behaviour of a narrow floating-point format beyond its largest finite value.
enum class Beyond : uint8_t {
  infinity,           ///< has infinities and NaNs as IEEE 754
  nan_all_ones,       ///< no infinity; NaN is all ones (…fn)
  nan_is_minus_zero,  ///< no infinity, no −0; NaN is the code of −0 (…fnuz)
  saturates,          ///< neither infinity nor NaN
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Beyond beyond;
  /// Code of the largest finite magnitude.
  [[nodiscard]] constexpr uint32_t largest() const {
    const uint32_t codes = uint32_t{1} << static_cast<unsigned>(exponent_bits + mantissa_bits);
    switch (beyond) {
      case Beyond::infinity:
        return codes - (uint32_t{1} << static_cast<unsigned>(mantissa_bits)) - 1;
      case Beyond::nan_all_ones:
        return codes - 2;
      default:
        return codes - 1;
    }
  }
  [[nodiscard]] constexpr uint32_t sign() const { return uint32_t{1} << static_cast<unsigned>(exponent_bits + mantissa_bits); }
};

constexpr Format kFloat16{5, 10, 15, Beyond::infinity};
constexpr Format kBFloat16{8, 7, 127, Beyond::infinity};
constexpr Format kE4M3FN{4, 3, 7, Beyond::nan_all_ones};
constexpr Format kE4M3FNUZ{4, 3, 8, Beyond::nan_is_minus_zero};
constexpr Format kE5M2{5, 2, 15, Beyond::infinity};
constexpr Format kE5M2FNUZ{5, 2, 16, Beyond::nan_is_minus_zero};
constexpr Format kE2M1{2, 1, 1, Beyond::saturates};

constexpr uint32_t nan_code(const Format& format) {
  switch (format.beyond) {
    case Beyond::infinity:  // the quiet bit above the infinity's code
      return format.largest() + 1 + (uint32_t{1} << static_cast<unsigned>(format.mantissa_bits - 1));
    case Beyond::nan_all_ones:
      return format.largest() + 1;
    case Beyond::nan_is_minus_zero:
      return format.sign();
    case Beyond::saturates:
      return format.largest();
  }
  return 0;
}

/// The code of a magnitude, rounded half to even; may exceed largest().
uint64_t round_magnitude(uint64_t bits, const Format& format) {
  constexpr int kDoubleMantissa = 52;
  constexpr int kDoubleBias = 1023;
  const int biased = static_cast<int>(bits >> kDoubleMantissa);
  if (biased == 0) return 0;  // zero, or far below every format here
  const int exponent = biased - kDoubleBias;
  const uint64_t full = (bits & ((uint64_t{1} << kDoubleMantissa) - 1)) | (uint64_t{1} << kDoubleMantissa);
  const int lowest = 1 - format.bias;
  const int shift = kDoubleMantissa - format.mantissa_bits + (exponent < lowest ? lowest - exponent : 0);
  if (shift > kDoubleMantissa + 1) return 0;  // below half of the smallest subnormal
  const auto bits_off = static_cast<unsigned>(shift);
  uint64_t kept = full >> bits_off;
  const uint64_t rest = full & ((uint64_t{1} << bits_off) - 1);
  const uint64_t half = uint64_t{1} << (bits_off - 1);
  if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;
  if (exponent < lowest) return kept;
  return (static_cast<uint64_t>(exponent + format.bias - 1) << static_cast<unsigned>(format.mantissa_bits)) + kept;
}

inline uint16_t encode(const Format& format, double value, bool saturate) {
  constexpr uint64_t kSign = uint64_t{1} << 63U;
  const auto all = std::bit_cast<uint64_t>(value);
  const uint32_t sign = (all & kSign) != 0 ? format.sign() : 0;
  if (std::isnan(value)) {
    const uint32_t code = nan_code(format);
    return static_cast<uint16_t>(format.beyond == Beyond::nan_is_minus_zero ? code : code | sign);
  }
  const uint64_t code = std::isinf(value) ? uint64_t{format.largest()} + 1 : round_magnitude(all & ~kSign, format);
  if (code > format.largest()) {
    if (saturate || format.beyond == Beyond::saturates) return static_cast<uint16_t>(format.largest() | sign);
    if (format.beyond == Beyond::infinity) return static_cast<uint16_t>((format.largest() + 1) | sign);
    return static_cast<uint16_t>(format.beyond == Beyond::nan_is_minus_zero ? nan_code(format) : nan_code(format) | sign);
  }
  if (code == 0 && format.beyond == Beyond::nan_is_minus_zero) return 0;
  return static_cast<uint16_t>(code | sign);
}

constexpr float decode(const Format& format, uint32_t code) {
  const uint32_t magnitude = code & (format.sign() - 1);
  const bool negative = (code & format.sign()) != 0;
  if (format.beyond == Beyond::nan_is_minus_zero && code == format.sign()) return std::numeric_limits<float>::quiet_NaN();
  if (format.beyond == Beyond::nan_all_ones && magnitude > format.largest()) {
    return negative ? -std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::quiet_NaN();
  }
  float value = 0;
  if (format.beyond == Beyond::infinity && magnitude > format.largest()) {
    const bool nan = magnitude != format.largest() + 1;
    value = nan ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  } else {
    const uint32_t hidden = uint32_t{1} << static_cast<unsigned>(format.mantissa_bits);
    const auto exponent = static_cast<int>(magnitude >> static_cast<unsigned>(format.mantissa_bits));
    const uint32_t mantissa = magnitude & (hidden - 1);
    int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
    value = static_cast<float>(exponent == 0 ? mantissa : mantissa + hidden);
    for (; scale > 0; --scale) value *= 2;
    for (; scale < 0; ++scale) value /= 2;
  }
  return negative ? -value : value;
}

/// All 256 values of an 8-bit format.
template <Format kFormat>
constexpr std::array<float, 256> decode_table() {
  std::array<float, 256> table{};
  for (uint32_t code = 0; code < table.size(); ++code) table[code] = decode(kFormat, code & (2 * kFormat.sign() - 1));
  return table;
}

/// 2^(code − 127); code 255 is NaN (OCP Microscaling formats, E8M0).
float decode_e8m0(uint8_t code) {
  if (code == 0xFF) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, int{code} - 127);
}

/// Nearest power of two, ties to the larger; a value without one becomes NaN or, when saturating, the nearest end.
uint8_t encode_e8m0(double value, bool saturate) {
  constexpr uint8_t kNan = 0xFF;
  constexpr int kLargest = 254;
  if (std::isnan(value) || std::signbit(value)) return kNan;
  if (std::isinf(value)) return saturate ? kLargest : kNan;
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const int code = exponent - 1 + (fraction >= 0.75 ? 1 : 0) + 127;
  if (code > kLargest) return saturate ? kLargest : kNan;
  return static_cast<uint8_t>(std::max(code, 0));
}

/// 64-bit integer to double, rounded to odd so that a later rounding to at most 11 bits is correct: the last bit kept is set when bits are
/// cut off.
template <class Integer>
double to_double_odd(Integer value) {
  const bool negative = value < 0;
  const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  constexpr uint64_t kExact = uint64_t{1} << 53U;
  constexpr uint64_t kCut = uint64_t{1} << 11U;
  const double result = magnitude < kExact ? static_cast<double>(magnitude)
                                           : static_cast<double>(magnitude / kCut | (magnitude % kCut != 0 ? 1U : 0U)) * kCut;
  return negative ? -result : result;
}

template <class Domain, class Value>
Domain to_domain(Value value) {
  if constexpr (std::is_same_v<Domain, uint8_t>)
    return value != Value{} ? 1 : 0;
  else if constexpr (std::is_integral_v<Domain> && std::is_floating_point_v<Value>)
    return truncate<Domain>(value);
  else
    return static_cast<Domain>(value);
}

template <class Domain, class Stored, class Decode>
void load_run(const std::byte* from, int64_t stride, int64_t count, Domain* out, const Decode& decode_element) {
  const auto* source = reinterpret_cast<const Stored*>(from);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = to_domain<Domain>(decode_element(source[i]));
  } else if (stride == 0) {
    if (count == 0) return;
    const Domain value = to_domain<Domain>(decode_element(source[0]));
    for (int64_t i = 0; i < count; ++i) out[i] = value;
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = to_domain<Domain>(decode_element(source[i * stride]));
  }
}

template <class Domain, class Stored, class Encode>
void store_run(std::byte* to, int64_t stride, int64_t count, const Domain* from, const Encode& encode_element) {
  auto* target = reinterpret_cast<Stored*>(to);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = encode_element(from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i * stride] = encode_element(from[i]);
  }
}

template <class Integer, class Domain>
Integer to_integer(Domain value) {
  if constexpr (std::is_floating_point_v<Domain>)
    return truncate<Integer>(value);
  else
    return static_cast<Integer>(value);
}

/// An integer of kBits bits (2 or 4), stored in a byte of its own, sign-extended.
template <int kBits, bool kSigned, class Domain>
uint8_t to_narrow_integer(Domain value) {
  if constexpr (std::is_floating_point_v<Domain>) {
    constexpr int kLow = kSigned ? -(1 << (kBits - 1)) : 0;
    constexpr int kHigh = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
    const double nearest = std::nearbyint(std::isnan(value) ? 0.0 : static_cast<double>(value));
    return static_cast<uint8_t>(static_cast<int>(std::fmin(std::fmax(nearest, kLow), kHigh)));
  } else {
    constexpr unsigned kMask = (1U << kBits) - 1;
    const unsigned low = static_cast<unsigned>(value) & kMask;
    const bool negative = kSigned && (low >> (kBits - 1)) != 0;
    return static_cast<uint8_t>(negative ? low | ~kMask : low);
  }
}

RELAYOUT_VECTORIZE void widen_run(const float* from, double* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i]);
}

/// The type whose memory layout a domain has: bools are 0 or 1 as uint8_t.
template <class Domain>
constexpr DataType kDomainType = std::is_same_v<Domain, uint8_t> ? DataType::boolean : kNativeType<Domain>;

#ifdef RELAYOUT_F16C

RELAYOUT_F16C int64_t convert_halves(const uint16_t* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}

RELAYOUT_F16C int64_t convert_halves(const float* from, uint16_t* to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}

const bool kHasF16c = __builtin_cpu_supports("f16c") != 0;

#else

constexpr bool kHasF16c = false;
int64_t convert_halves(const uint16_t*, float*, int64_t) {
  return 0;
}
int64_t convert_halves(const float*, uint16_t*, int64_t) {
  return 0;
}

#endif

/// Elements that are converted at a time, to gather strided ones or to convert through float.
constexpr int64_t kRun = 256;

void decode_halves(const uint16_t* from, float* to, int64_t count) {
  for (int64_t i = kHasF16c ? convert_halves(from, to, count) : 0; i < count; ++i) to[i] = half_to_float(from[i]);
}

void encode_halves(const float* from, uint16_t* to, int64_t count) {
  for (int64_t i = kHasF16c ? convert_halves(from, to, count) : 0; i < count; ++i) to[i] = float_to_half(from[i]);
}

RELAYOUT_VECTORIZE void decode_bfloats(const uint16_t* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = bfloat16_to_float(from[i]);
}

RELAYOUT_VECTORIZE void encode_bfloats(const float* from, uint16_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = float_to_bfloat16(from[i]);
}

RELAYOUT_VECTORIZE void round_run_to_odd(const double* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(round_to_odd(from[i]));
}

RELAYOUT_VECTORIZE void to_doubles_odd(const int64_t* from, double* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_double_odd(from[i]);
}

void to_doubles_odd(const uint8_t* from, double* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i]);
}

RELAYOUT_VECTORIZE void to_doubles_odd(const uint64_t* from, double* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_double_odd(from[i]);
}

/// Whether the fast path pays off; a repeated value is read once.
bool is_run(int64_t stride, int64_t count) {
  constexpr int64_t kFewest = 8;
  return stride != 0 && count >= kFewest;
}

/// 16-bit floats through float, which holds all their values: a double and its float rounded to odd round to the same 16-bit value.
template <DataType kType, class Domain>
void load_narrow(const uint16_t* from, int64_t stride, int64_t count, Domain* out) {
  static_assert(std::is_floating_point_v<Domain>);
  std::array<uint16_t, kRun> codes;
  std::array<float, kRun> values;
  for (int64_t first = 0; first < count; first += kRun) {
    const int64_t here = std::min(kRun, count - first);
    const uint16_t* run = from + first;
    if (stride != 1) {
      for (int64_t i = 0; i < here; ++i) element_at(codes, i) = from[(first + i) * stride];
      run = codes.data();
    }
    float* to = values.data();
    if constexpr (std::is_same_v<Domain, float>) to = out + first;
    kType == DataType::float16 ? decode_halves(run, to, here) : decode_bfloats(run, to, here);
    if constexpr (std::is_same_v<Domain, double>) widen_run(to, out + first, here);
  }
}

template <DataType kType, class Domain>
void store_narrow(uint16_t* to, int64_t stride, int64_t count, const Domain* from) {
  std::array<uint16_t, kRun> codes;
  std::array<float, kRun> values;
  for (int64_t first = 0; first < count; first += kRun) {
    const int64_t here = std::min(kRun, count - first);
    const float* run = values.data();
    if constexpr (std::is_same_v<Domain, float>) run = from + first;
    if constexpr (std::is_same_v<Domain, double>) round_run_to_odd(from + first, values.data(), here);
    if constexpr (std::is_integral_v<Domain>) {
      std::array<double, kRun> wide;
      to_doubles_odd(from + first, wide.data(), here);
      round_run_to_odd(wide.data(), values.data(), here);
    }
    uint16_t* const out = stride == 1 ? to + first : codes.data();
    kType == DataType::float16 ? encode_halves(run, out, here) : encode_bfloats(run, out, here);
    if (stride == 1) continue;
    for (int64_t i = 0; i < here; ++i) to[(first + i) * stride] = element_at(codes, i);
  }
}

template <class Domain>
double to_small_float_source(Domain value) {
  if constexpr (std::is_integral_v<Domain> && sizeof(Domain) == 8)
    return to_double_odd(value);
  else
    return static_cast<double>(value);
}

}  // namespace

uint16_t encode_small_float(DataType type, double value, bool saturate) {
  switch (type) {
    case DataType::float16:
      return encode(kFloat16, value, saturate);
    case DataType::bfloat16:
      return encode(kBFloat16, value, saturate);
    case DataType::float8e4m3fn:
      return encode(kE4M3FN, value, saturate);
    case DataType::float8e4m3fnuz:
      return encode(kE4M3FNUZ, value, saturate);
    case DataType::float8e5m2:
      return encode(kE5M2, value, saturate);
    case DataType::float8e5m2fnuz:
      return encode(kE5M2FNUZ, value, saturate);
    case DataType::float4e2m1: {
      constexpr uint16_t kMinusZero = 8;  // the reference's result for NaN, which the type does not have
      return std::isnan(value) ? kMinusZero : encode(kE2M1, value, saturate);
    }
    default:
      return encode_e8m0(value, saturate);
  }
}

float decode_small_float(DataType type, uint16_t bits) {
  static constexpr auto kE4M3FNTable = decode_table<kE4M3FN>();
  static constexpr auto kE4M3FNUZTable = decode_table<kE4M3FNUZ>();
  static constexpr auto kE5M2Table = decode_table<kE5M2>();
  static constexpr auto kE5M2FNUZTable = decode_table<kE5M2FNUZ>();
  static constexpr auto kE2M1Table = decode_table<kE2M1>();
  const std::size_t code = bits & 0xFFU;
  switch (type) {
    case DataType::float16:
      return half_to_float(bits);
    case DataType::bfloat16:
      return bfloat16_to_float(bits);
    case DataType::float8e4m3fn:
      return kE4M3FNTable[code];
    case DataType::float8e4m3fnuz:
      return kE4M3FNUZTable[code];
    case DataType::float8e5m2:
      return kE5M2Table[code];
    case DataType::float8e5m2fnuz:
      return kE5M2FNUZTable[code];
    case DataType::float4e2m1:
      return kE2M1Table[code];
    default:
      return decode_e8m0(static_cast<uint8_t>(code));
  }
}

double quotient(DataType type, double x, double y) {
  if (type == DataType::float64) return x / y;
  const float exact = static_cast<float>(x) / static_cast<float>(y);
  return double{kHalfTypes.has(type) ? decode_small_float(type, encode_small_float(type, double{exact}, false)) : exact};
}

template <class Domain>
void load(DataType type, const std::byte* from, int64_t stride, int64_t count, Domain* out) {
  if (stride == 1 && is_run(stride, count) && convert_run(type, from, kDomainType<Domain>, reinterpret_cast<std::byte*>(out), count))
    return;
  const auto plain = [&]<class Stored>(Stored) { load_run<Domain, Stored>(from, stride, count, out, [](Stored v) { return v; }); };
  switch (type) {
    case DataType::float32:
      return plain(float{});
    case DataType::float64:
      return plain(double{});
    case DataType::uint8:
      return plain(uint8_t{});
    case DataType::int8:
      return plain(int8_t{});
    case DataType::uint16:
      return plain(uint16_t{});
    case DataType::int16:
      return plain(int16_t{});
    case DataType::uint32:
      return plain(uint32_t{});
    case DataType::int32:
      return plain(int32_t{});
    case DataType::uint64:
      return plain(uint64_t{});
    case DataType::int64:
      return plain(int64_t{});
    case DataType::uint4:
    case DataType::uint2:
      return plain(uint8_t{});
    case DataType::int4:
    case DataType::int2:
      return plain(int8_t{});
    case DataType::boolean:
      return load_run<Domain, uint8_t>(from, stride, count, out, [](uint8_t v) { return static_cast<uint8_t>(v != 0); });
    case DataType::float16:
      if constexpr (std::is_floating_point_v<Domain>) {
        if (is_run(stride, count)) return load_narrow<DataType::float16>(reinterpret_cast<const uint16_t*>(from), stride, count, out);
      }
      return load_run<Domain, uint16_t>(from, stride, count, out, half_to_float);
    case DataType::bfloat16:
      if constexpr (std::is_floating_point_v<Domain>) {
        if (is_run(stride, count)) return load_narrow<DataType::bfloat16>(reinterpret_cast<const uint16_t*>(from), stride, count, out);
      }
      return load_run<Domain, uint16_t>(from, stride, count, out, bfloat16_to_float);
    default:
      return load_run<Domain, uint8_t>(from, stride, count, out, [type](uint8_t v) { return decode_small_float(type, v); });
  }
}

template <class Domain>
void store(DataType type, std::byte* to, int64_t stride, int64_t count, const Domain* from) {
  if (stride == 1 && is_run(stride, count) && convert_run(kDomainType<Domain>, reinterpret_cast<const std::byte*>(from), type, to, count))
    return;
  const auto integer = [&]<class Stored>(Stored) {
    store_run<Domain, Stored>(to, stride, count, from, [](Domain v) { return to_integer<Stored>(v); });
  };
  switch (type) {
    case DataType::float32:
      return store_run<Domain, float>(to, stride, count, from, [](Domain v) { return static_cast<float>(v); });
    case DataType::float64:
      return store_run<Domain, double>(to, stride, count, from, [](Domain v) { return static_cast<double>(v); });
    case DataType::uint8:
      return integer(uint8_t{});
    case DataType::int8:
      return integer(int8_t{});
    case DataType::uint16:
      return integer(uint16_t{});
    case DataType::int16:
      return integer(int16_t{});
    case DataType::uint32:
      return integer(uint32_t{});
    case DataType::int32:
      return integer(int32_t{});
    case DataType::uint64:
      return integer(uint64_t{});
    case DataType::int64:
      return integer(int64_t{});
    case DataType::uint4:
      return store_run<Domain, uint8_t>(to, stride, count, from, to_narrow_integer<4, false, Domain>);
    case DataType::int4:
      return store_run<Domain, uint8_t>(to, stride, count, from, to_narrow_integer<4, true, Domain>);
    case DataType::uint2:
      return store_run<Domain, uint8_t>(to, stride, count, from, to_narrow_integer<2, false, Domain>);
    case DataType::int2:
      return store_run<Domain, uint8_t>(to, stride, count, from, to_narrow_integer<2, true, Domain>);
    case DataType::boolean:
      return store_run<Domain, uint8_t>(to, stride, count, from, [](Domain v) { return static_cast<uint8_t>(v != Domain{}); });
    case DataType::float16:
      return store_narrow<DataType::float16>(reinterpret_cast<uint16_t*>(to), stride, count, from);
    case DataType::bfloat16:
      return store_narrow<DataType::bfloat16>(reinterpret_cast<uint16_t*>(to), stride, count, from);
    default:
      return store_run<Domain, uint8_t>(to, stride, count, from, [type](Domain v) {
        return static_cast<uint8_t>(encode_small_float(type, to_small_float_source(v), true));
      });
  }
}

template void load(DataType, const std::byte*, int64_t, int64_t, float*);
template void load(DataType, const std::byte*, int64_t, int64_t, double*);
template void load(DataType, const std::byte*, int64_t, int64_t, int64_t*);
template void load(DataType, const std::byte*, int64_t, int64_t, uint64_t*);
template void load(DataType, const std::byte*, int64_t, int64_t, uint8_t*);
template void store(DataType, std::byte*, int64_t, int64_t, const float*);
template void store(DataType, std::byte*, int64_t, int64_t, const double*);
template void store(DataType, std::byte*, int64_t, int64_t, const int64_t*);
template void store(DataType, std::byte*, int64_t, int64_t, const uint64_t*);
template void store(DataType, std::byte*, int64_t, int64_t, const uint8_t*);

}  // namespace relayout
