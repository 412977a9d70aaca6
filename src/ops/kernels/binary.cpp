// Computes elementwise operators of two and more operands, with broadcasting.
#include "ops/kernels/binary.h"

#include <limits>

#include "ops/call.h"
#include "ops/formulas.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Dims of the second operand, aligned to the first. Before opset 7 they are a run of the first operand's dims that begins at `axis` (or
/// ends at the last), and only with broadcast = 1; a single element always fits.
Dims aligned_dims(const OpCall& call, const Dims& a, const Dims& b) {
  if (call.opset >= kNumpyOpset || a == b) return b;
  if (call.attributes.integer("broadcast", 0) == 0)
    reject(call, "dims " + to_string(a) + " and " + to_string(b) + " without broadcast = 1");
  if (element_count(b) == 1) return b.size() <= a.size() ? b : Dims{};
  if (b.size() > a.size()) reject(call, "the second operand has more dims than the first");
  const auto axis = call.attributes.integer("axis");
  const std::size_t begin = axis ? normal_axis(call, *axis, a.size()) : a.size() - b.size();
  if (begin + b.size() > a.size()) reject(call, "the second operand reaches beyond the first operand's last dim");
  Dims dims = b;
  dims.resize(b.size() + (a.size() - begin - b.size()), 1);
  return dims;
}

Dims binary_dims(const OpCall& call, const DatumInfo& a, const DatumInfo& b) {
  const Dims dims = broadcast_dims(call, a.dims, aligned_dims(call, a.dims, b.dims));
  if (call.opset < kNumpyOpset && dims != a.dims) reject(call, "dims " + to_string(b.dims) + " do not broadcast to " + to_string(a.dims));
  return dims;
}

template <class F>
void map_binary(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  const Tensor& a = tensor_at(inputs, 0);
  const Tensor b = aligned(call, a, tensor_at(inputs, 1));
  with_native_type(a.type(), [&]<class T>(T) {
    map_elements<T, T>(call.threads, outputs[0]->tensor, [f](T x, T y) { return static_cast<T>(f(x, y)); }, a, b);
  });
}

/// Two's complement arithmetic for integers: computed unsigned, where overflow wraps.
template <class F, class T>
T wrapping(const F& f, T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(x, y);
  } else {
    using Wide = std::conditional_t<sizeof(T) == sizeof(uint64_t), uint64_t, uint32_t>;
    return static_cast<T>(f(static_cast<Wide>(x), static_cast<Wide>(y)));
  }
}

/// Maps an operation with the same bits for signed and unsigned integers.
template <class F>
void map_wrapping(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  const Tensor& a = tensor_at(inputs, 0);
  const Tensor b = aligned(call, a, tensor_at(inputs, 1));
  with_unsigned_or_real(a.type(), [&]<class T>(T) {
    const auto wrapped = [f](T x, T y) { return wrapping(f, x, y); };
    map_elements<T, T>(call.threads, unsigned_view(outputs[0]->tensor), wrapped, unsigned_view(a), unsigned_view(b));
  });
}

/// As map_wrapping(), for integers only.
template <class F>
void map_bits(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  const Tensor& a = tensor_at(inputs, 0);
  const Tensor b = aligned(call, a, tensor_at(inputs, 1));
  with_unsigned_type(a.type(), [&]<class T>(T) {
    const auto combine = [f](T x, T y) { return static_cast<T>(f(x, y)); };
    map_elements<T, T>(call.threads, unsigned_view(outputs[0]->tensor), combine, unsigned_view(a), unsigned_view(b));
  });
}

/// Rejects integer divisors of 0, unless the result is empty.
void check_divisors(const OpCall& call, const Tensor& divisors, const Tensor& out) {
  if (traits(divisors.type()).is_float || out.element_count() == 0) return;
  const StridedLoop loop(divisors.dims(), {operand(divisors)});
  with_native_type(divisors.type(), [&]<class T>(T) {
    loop.run([&](std::byte* const* data, const int64_t* strides, int64_t count) {
      const auto* const values = reinterpret_cast<const T*>(data[0]);
      for (int64_t i = 0; i < count; ++i) {
        if (values[i * strides[0]] == 0) reject(call, "integer division by zero");
      }
    });
  });
}

/// x / y; integers cut off fractions and wrap, y is not 0. The integer part of a quotient of up to 32 bits is exact in floating point with
/// more bits, and vector units have no integer division.
template <class T>
[[gnu::always_inline]] inline T quotient(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return x / y;
  } else {
    const bool negates = std::is_signed_v<T> && y == static_cast<T>(-1);
    const T divisor = negates ? T{1} : y;
    const T opposite = static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
    if constexpr (sizeof(T) == sizeof(int64_t)) {
      return negates ? opposite : x / divisor;
    } else {
      using Real = std::conditional_t<sizeof(T) <= sizeof(int16_t), float, double>;
      const T whole = static_cast<T>(static_cast<Real>(x) / static_cast<Real>(divisor));
      return negates ? opposite : whole;
    }
  }
}

/// Remainder with the sign of the divisor, or of the dividend (`as_fmod`).
template <class T>
[[gnu::always_inline]] inline T remainder(T x, T y, bool as_fmod) {
  if constexpr (std::is_floating_point_v<T>) {
    const T rest = std::fmod(x, y);
    if (as_fmod) return rest;
    if (rest == 0) return std::copysign(rest, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    const T rest = static_cast<T>(static_cast<uint64_t>(x) - static_cast<uint64_t>(quotient(x, y)) * static_cast<uint64_t>(y));
    const bool moves = !as_fmod && rest != 0 && (rest < 0) != (y < 0);
    return moves ? static_cast<T>(rest + y) : rest;
  }
}

/// x shifted by y of its `bits` bits; the sign fills from the left. A negative or too large shift leaves 0 to the left and only the sign to
/// the right (ONNX BitShift 28).
template <class T>
T shifted(T x, T y, bool left, int bits) {
  if constexpr (std::is_integral_v<T>) {
    const bool in_range = std::cmp_greater_equal(y, 0) && std::cmp_less(y, bits);
    const unsigned places = in_range ? static_cast<unsigned>(y) : 0;
    if (left) return in_range ? static_cast<T>(static_cast<uint64_t>(x) << places) : T{0};
    return in_range ? static_cast<T>(x >> places) : static_cast<T>(x < 0 ? -1 : 0);
  } else {
    return x;
  }
}

/// x^y of integers, wrapping; a negative exponent gives the truncated real power.
template <class T>
T integer_power(const OpCall& call, T x, int64_t y) {
  if (y < 0) {
    if (x == 0) reject(call, "zero to a negative integer power");
    if (x == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (x == -1) return y % 2 == 0 ? 1 : -1;
    }
    return 0;
  }
  uint64_t result = 1;
  auto base = static_cast<uint64_t>(x);
  for (auto rest = static_cast<uint64_t>(y); rest != 0; rest >>= 1U) {
    if ((rest & 1U) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

}  // namespace

Tensor aligned(const OpCall& call, const Tensor& a, const Tensor& b) {
  const Dims dims = aligned_dims(call, a.dims(), b.dims());
  if (dims == b.dims()) return b;
  Dims strides = b.strides();
  if (dims.size() < strides.size()) strides.clear();  // one element
  strides.resize(dims.size(), 1);
  return b.view(dims, std::move(strides));
}

Tensor unsigned_view(const Tensor& tensor) {
  constexpr int kByte = 8;
  constexpr std::array kTypes{DataType::uint8, DataType::uint16, DataType::uint32, DataType::uint64};
  if (!kSignedTypes.has(tensor.type())) return tensor;
  const auto size = static_cast<unsigned>(traits(tensor.type()).bits / kByte);
  return {TensorDesc{kTypes[static_cast<std::size_t>(std::bit_width(size)) - 1], tensor.dims(), tensor.strides()}, tensor.bytes(),
          tensor.owner()};
}

Inferred infer_binary(const OpCall& call, InputInfos inputs, TypeSet types, bool test) {
  require_inputs(call, inputs, 2, 2);
  const auto [a, b] = two_of_one_type(call, inputs, types);
  return one(call, test ? DataType::boolean : a.type, binary_dims(call, a, b));
}

Inferred infer_arithmetic(const OpCall& call, InputInfos inputs) {
  return infer_binary(call, inputs, kNumericTypes, false);
}
Inferred infer_bitwise(const OpCall& call, InputInfos inputs) {
  return infer_binary(call, inputs, kIntegerTypes, false);
}

void add(const OpCall& c, InputData in, OutputData out) {
  map_wrapping(c, in, out, std::plus<>{});
}
void subtract(const OpCall& c, InputData in, OutputData out) {
  map_wrapping(c, in, out, std::minus<>{});
}
void multiply(const OpCall& c, InputData in, OutputData out) {
  map_wrapping(c, in, out, std::multiplies<>{});
}
void divide(const OpCall& c, InputData in, OutputData out) {
  check_divisors(c, tensor_at(in, 1), out[0]->tensor);
  map_binary(c, in, out, [](auto x, auto y) { return quotient(x, y); });
}

void modulo(const OpCall& call, InputData inputs, OutputData outputs) {
  const bool as_fmod = call.attributes.integer("fmod", 0) != 0;
  constexpr int64_t kFloorOpset = 28;
  const bool is_real = traits(tensor_at(inputs, 0).type()).is_float;
  if (!as_fmod && is_real && call.opset < kFloorOpset) reject(call, "floating-point operands need fmod = 1");
  check_divisors(call, tensor_at(inputs, 1), outputs[0]->tensor);
  map_binary(call, inputs, outputs, [as_fmod](auto x, auto y) { return remainder(x, y, as_fmod); });
}

Inferred infer_pow(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& base = tensor_info(call, inputs, 0, kNumericTypes);
  const DatumInfo& exponent = tensor_info(call, inputs, 1, kNumericTypes);
  return one(call, base.type, binary_dims(call, base, exponent));
}

/// The result has the type of the base; integers to integer powers stay integers.
void power(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& base = tensor_at(inputs, 0);
  const Tensor exponent = aligned(call, base, tensor_at(inputs, 1));
  const Tensor& out = outputs[0]->tensor;
  if (base.type() == DataType::float32 && traits(exponent.type()).is_float && exponent.element_count() == 1) {
    // The square of a float in double is exact, its cube nearly so.
    const auto y = load_one<double>(exponent.type(), exponent.bytes());
    if (y == 2) return map_elements<float, float>(call.threads, out, [](float x) { return x * x; }, base);
    if (y == 3) return map_elements<double, double>(call.threads, out, [](double x) { return x * x * x; }, base);
  }
  if (traits(base.type()).is_float || traits(exponent.type()).is_float) {
    return map_elements<double, double>(
        call.threads, out, [](double x, double y) { return y == 2 ? x * x : std::pow(x, y); }, base, exponent);
  }
  if (exponent.element_count() == 1 && load_one<int64_t>(exponent.type(), exponent.bytes()) == 2) {
    const auto square = [](auto x) { return wrapping(std::multiplies<>{}, x, x); };
    return with_unsigned_type(base.type(),
                              [&]<class T>(T) { map_elements<T, T>(call.threads, unsigned_view(out), square, unsigned_view(base)); });
  }
  if (base.type() == DataType::uint64) {
    const auto raise = [&](uint64_t x, uint64_t y) { return integer_power(call, x, static_cast<int64_t>(y)); };
    return map_elements<uint64_t, uint64_t>(call.threads, out, raise, base, exponent);
  }
  const auto raise = [&](int64_t x, int64_t y) { return integer_power(call, x, y); };
  map_elements<int64_t, int64_t>(call.threads, out, raise, base, exponent);
}

void bit_shift(const OpCall& call, InputData inputs, OutputData outputs) {
  const std::string direction = call.attributes.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") reject(call, "direction is neither LEFT nor RIGHT");
  const bool left = direction == "LEFT";
  const int bits = traits(tensor_at(inputs, 0).type()).bits;
  map_binary(call, inputs, outputs, [left, bits](auto x, auto y) { return shifted(x, y, left, bits); });
}

void bitwise_and(const OpCall& c, InputData in, OutputData out) {
  map_bits(c, in, out, std::bit_and<>{});
}
void bitwise_or(const OpCall& c, InputData in, OutputData out) {
  map_bits(c, in, out, std::bit_or<>{});
}
void bitwise_xor(const OpCall& c, InputData in, OutputData out) {
  map_bits(c, in, out, std::bit_xor<>{});
}

Inferred infer_where(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& condition = tensor_info(call, inputs, 0, kBooleanTypes);
  const DatumInfo& x = tensor_info(call, inputs, 1);
  const DatumInfo& y = tensor_info(call, inputs, 2);
  require_same_type(call, x, y);
  return one(call, x.type, broadcast_dims(call, condition.dims, broadcast_dims(call, x.dims, y.dims)));
}

void where(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  std::vector<Operand> operands{operand(out)};
  for (std::size_t i = 0; i < 3; ++i) operands.push_back(broadcast_operand(tensor_at(inputs, i), out.dims()));
  const StridedLoop loop(out.dims(), std::move(operands));
  with_storage(out.type(), [&]<class T>(const T&) {
    loop.run(call.threads, [](std::byte* const* data, const int64_t* strides, int64_t count) {
      auto* to = reinterpret_cast<T*>(data[0]);
      const auto* condition = reinterpret_cast<const uint8_t*>(data[1]);
      const auto* x = reinterpret_cast<const T*>(data[2]);
      const auto* y = reinterpret_cast<const T*>(data[3]);
      if (strides[0] != 1 || strides[1] != 1) {
        for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = condition[i * strides[1]] != 0 ? x[i * strides[2]] : y[i * strides[3]];
        return;
      }
      with_step(strides[2], [&](auto x_step) {
        with_step(strides[3], [&](auto y_step) {
          for (int64_t i = 0; i < count; ++i) {
            const T &left = x[i * x_step], &right = y[i * y_step];
            if constexpr (std::is_unsigned_v<T>) {  // no branch: masks without a pattern would be mispredicted
              const auto mask = static_cast<T>(T{0} - static_cast<T>(condition[i] != 0));
              to[i] = static_cast<T>((left & mask) | (right & static_cast<T>(~mask)));
            } else {
              to[i] = condition[i] != 0 ? left : right;
            }
          }
        });
      });
    });
  });
}

Inferred infer_clip(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 3);
  const DatumInfo& input = tensor_info(call, inputs, 0, kNumericTypes);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const DatumInfo* bound = optional_tensor_info(call, inputs, i, kNumericTypes);
    if (bound == nullptr) continue;
    require_same_type(call, input, *bound);
    if (element_count(bound->dims) != 1) reject(call, "a bound has dims " + to_string(bound->dims));
  }
  return results(call, tensor_of(input.type, input.dims));
}

/// Bounds are attributes before opset 11.
void clip(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  with_native_type(x.type(), [&]<class T>(T) {
    const auto bound = [&](std::size_t index, std::string_view name, T none) {
      if (present(inputs, index)) return load_one<T>(x.type(), tensor_at(inputs, index).bytes());
      constexpr int64_t kInputsOpset = 11;
      const auto value = call.opset >= kInputsOpset ? std::nullopt : call.attributes.real(name);
      return value ? static_cast<T>(*value) : none;
    };
    using Limits = std::numeric_limits<T>;
    const T low = bound(1, "min", Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest());
    const T high = bound(2, "max", Limits::has_infinity ? Limits::infinity() : Limits::max());
    map_elements<T, T>(call.threads, outputs[0]->tensor, [low, high](T value) { return elementwise::clip(value, low, high); }, x);
  });
}

namespace {

/// Before opset 7 a slope of one dim applies per channel.
Dims slope_dims(const OpCall& call, const Dims& input, const Dims& slope) {
  if (call.opset >= kNumpyOpset || slope.size() != 1 || slope[0] == 1 || input.size() < 2) return slope;
  Dims dims(input.size() - 1, 1);
  dims[0] = slope[0];
  return dims;
}

}  // namespace

/// The slope may have fewer dims than the input, or one number for each channel (before opset 7); the result has the input's dims.
Inferred infer_prelu(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const auto [input, slope] = two_of_one_type(call, inputs, kNumericTypes);
  if (broadcast_dims(call, input.dims, slope_dims(call, input.dims, slope.dims)) != input.dims) {
    reject(call, "slope of dims " + to_string(slope.dims) + " does not broadcast to " + to_string(input.dims));
  }
  return results(call, tensor_of(input.type, input.dims));
}

void prelu(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  Tensor slope = tensor_at(inputs, 1);
  const Dims dims = slope_dims(call, x.dims(), slope.dims());
  if (dims != slope.dims()) {
    Dims strides(dims.size(), 0);
    strides[0] = slope.strides()[0];
    slope = slope.view(dims, std::move(strides));
  }
  with_native_type(x.type(), [&]<class T>(T) {
    const auto f = [](T value, T factor) {
      const T scaled = wrapping(std::multiplies<>{}, value, factor);
      return value < 0 ? scaled : value;
    };
    map_elements<T, T>(call.threads, outputs[0]->tensor, f, x, slope);
  });
}

// Any number of operands.
namespace {

template <class T>
void keep(int64_t count, T* out, const T* total) {
  if (out != total) std::copy_n(total, count, out);
}

/// out = fold of any number of inputs, each read as T; finish(count, out, total) writes each chunk of the result.
template <class T, class Fold, class Finish>
void fold_inputs(const OpCall& call, InputData inputs, const Tensor& out, Fold fold, Finish finish) {
  struct Work {
    Fold fold;
    Finish finish;
    std::size_t inputs;
  };
  const Work work{fold, finish, inputs.size()};
  const auto run = [](const void* opaque, int64_t count, void* to, const void* const* in, std::size_t first) {
    const auto& all = *static_cast<const Work*>(opaque);
    const std::size_t end = std::min(kMostMapped, all.inputs - first);
    T* const target = static_cast<T*>(to);
    const T* total = first == 0 ? static_cast<const T*>(in[0]) : target;
    for (std::size_t k = first == 0 ? 1 : 0; k < end; ++k) {
      map_run(count, all.fold, target, total, static_cast<const T*>(in[k]));
      total = target;
    }
    if (first + end == all.inputs) all.finish(count, target, total);
  };
  std::vector<const Tensor*> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back(&tensor_at(inputs, i));
  map_chunks(call.threads, out, kChunkType<T>, tensors, kChunkType<T>, {run, &work});
}

Inferred infer_variadic(const OpCall& call, InputInfos inputs, TypeSet types) {
  if (inputs.empty()) reject(call, "no inputs");
  const DatumInfo& first = tensor_info(call, inputs, 0, types);
  Dims dims = first.dims;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const DatumInfo& next = tensor_info(call, inputs, i, types);
    require_same_type(call, first, next);
    dims = broadcast_dims(call, dims, next.dims);
  }
  return one(call, first.type, std::move(dims));
}

template <class Extreme>
void extreme_of_inputs(const OpCall& call, InputData inputs, OutputData outputs, const Extreme& extreme) {
  const Tensor& out = outputs[0]->tensor;
  with_native_type(out.type(), [&]<class T>(T) { fold_inputs<T>(call, inputs, out, extreme, keep<T>); });
}

}  // namespace

Inferred infer_variadic_real(const OpCall& call, InputInfos inputs) {
  return infer_variadic(call, inputs, kRealTypes);
}
Inferred infer_variadic_numeric(const OpCall& call, InputInfos inputs) {
  return infer_variadic(call, inputs, kNumericTypes);
}

void sum(const OpCall& c, InputData in, OutputData out) {
  fold_inputs<double>(c, in, out[0]->tensor, std::plus<>{}, keep<double>);
}
void mean(const OpCall& c, InputData in, OutputData out) {
  const auto finish = [inputs = in.size()](int64_t count, double* to, const double* total) {
    const auto divisor = static_cast<double>(inputs);
    if (!std::has_single_bit(inputs)) return map_run(count, [divisor](double x) { return x / divisor; }, to, total);
    map_run(count, [part = 1 / divisor](double x) { return x * part; }, to, total);  // exact
  };
  fold_inputs<double>(c, in, out[0]->tensor, std::plus<>{}, finish);
}
void maximum(const OpCall& c, InputData in, OutputData out) {
  extreme_of_inputs(c, in, out, [](auto x, auto y) { return elementwise::maximum(x, y); });
}
void minimum(const OpCall& c, InputData in, OutputData out) {
  extreme_of_inputs(c, in, out, [](auto x, auto y) { return elementwise::minimum(x, y); });
}

}  // namespace relayout::kernels
