// Quantizes and dequantizes numbers, and multiplies and convolves quantized ones.

#include <cmath>
#include <limits>

#include "base/positions.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/kernels/convolution.h"
#include "ops/kernels/gather.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/matmul.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

constexpr TypeSet kFloat8Types{DataType::float8e4m3fn, DataType::float8e4m3fnuz, DataType::float8e5m2, DataType::float8e5m2fnuz};
constexpr TypeSet kQuantizedTypes = TypeSet{DataType::uint8, DataType::int8,  DataType::uint16, DataType::int16,     DataType::uint4,
                                            DataType::int4,  DataType::uint2, DataType::int2,   DataType::float4e2m1} |
                                    kFloat8Types;
constexpr TypeSet kEightBits{DataType::uint8, DataType::int8};
constexpr TypeSet kScaleTypes = kRealTypes | TypeSet{DataType::float8e8m0, DataType::int32};

std::optional<DataType> optional_type(const OpCall& call, std::string_view name) {
  if (call.attributes.integer(name, 0) == 0) return std::nullopt;
  return type_attribute(call, name, DataType::undefined, kAllTypes);
}

/// Whether there is one value per block of the axis.
bool is_blocked(const OpCall& call, const Dims& x, const Dims& parameter) {
  const int64_t block = call.attributes.integer("block_size", 0);
  if (block <= 0) return false;
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 1), x.size());
  Dims expected = x;
  expected[axis] = x[axis] / block + (x[axis] % block != 0 ? 1 : 0);
  return parameter == expected;
}

/// Rejects a scale or zero point that has neither one value, nor one per index of the axis, nor one per block of it.
void check_granularity(const OpCall& call, const Dims& x, const Dims& parameter) {
  if (element_count(parameter) == 1 || is_blocked(call, x, parameter)) return;
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 1), x.size());
  if (parameter.size() == 1 && parameter[0] == x[axis]) return;
  reject(call, "scale or zero point of dims " + to_string(parameter) + " for " + to_string(x));
}

/// Scale or zero point as operand over the dims of x.
struct Spread {
  Tensor holder;
  Operand operand;
};

Spread spread(const OpCall& call, const Tensor& parameter, const Dims& x) {
  Spread result{parameter, {parameter.bytes(), element_stride(parameter.type()), Dims(x.size(), 0)}};
  if (parameter.element_count() == 1) return result;
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 1), x.size());
  if (!is_blocked(call, x, parameter.dims())) {
    result.operand.strides[axis] = parameter.strides()[0];
    return result;
  }
  const int64_t block = call.attributes.integer("block_size", 0);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < x[axis]; ++i) positions.push_back(i / block);
  result.holder = taken(call, parameter, axis, positions);
  result.operand = operand(result.holder);
  return result;
}

std::pair<double, double> range_of(DataType type) {
  const DataTypeTraits& known = traits(type);
  const double span = std::ldexp(1.0, known.bits);
  return known.is_signed ? std::pair(-span / 2, span / 2 - 1) : std::pair(0.0, span - 1);
}

double saturated(double value, std::pair<double, double> range) {
  return std::fmin(std::fmax(value, range.first), range.second);
}

/// Rounds at most kChunk values to a 16-bit type.
void round_to(DataType type, float* values, int64_t count) {
  std::array<uint16_t, kChunk> codes;
  auto* const bytes = reinterpret_cast<std::byte*>(codes.data());
  store(type, bytes, 1, count, values);
  load(type, bytes, 1, count, values);
}

/// Runs f(x, scale, zero point, count, result) over all elements: x and the result as X and Out, each Domain or the type in memory, the
/// parameters as Domain; an absent zero point is 0.
template <class Domain, class X = Domain, class Out = Domain, class F>
void map_quantized(const OpCall& call, InputData inputs, const Tensor& out, const F& f) {
  const Tensor& x = tensor_at(inputs, 0);
  const Spread scale = spread(call, tensor_at(inputs, 1), x.dims());
  Tensor none(DataType::uint8, {});
  none.data<uint8_t>()[0] = 0;
  const Spread zero = spread(call, present(inputs, 2) ? tensor_at(inputs, 2) : none, x.dims());
  const StridedLoop loop(x.dims(), {operand(out), operand(x), scale.operand, zero.operand});
  const DataType x_type = x.type(), scale_type = scale.holder.type(), zero_type = zero.holder.type();
  loop.run(call.threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
    ChunkReader<X> values;
    ChunkReader<Domain> scales, zeros;
    std::array<Out, kChunk> made;
    const Domain *s_values = nullptr, *z_values = nullptr;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t length = std::min(kChunk, count - begin);
      const auto at = [&](std::size_t k, DataType type) { return data[k] + begin * strides[k] * element_stride(type); };
      const X* const x_values = values.read(x_type, at(1, x_type), strides[1], length);
      if (begin == 0 || strides[2] != 0) s_values = scales.read(scale_type, at(2, scale_type), strides[2], length);
      if (begin == 0 || strides[3] != 0) z_values = zeros.read(zero_type, at(3, zero_type), strides[3], length);
      const bool direct = strides[0] == 1 && is_native<Out>(out.type());
      Out* const target = direct ? reinterpret_cast<Out*>(at(0, out.type())) : made.data();
      f(x_values, s_values, z_values, length, target);
      if (!direct) store_chunk(out.type(), at(0, out.type()), strides[0], length, target);
    }
  });
}

/// As map_quantized(), for a function of one element's x, scale and zero point, in double.
template <class F>
void map_quantized_one(const OpCall& call, InputData inputs, const Tensor& out, const F& f) {
  map_quantized<double>(call, inputs, out, [&](const double* x, const double* s, const double* z, int64_t count, double* to) {
    for (int64_t i = 0; i < count; ++i) to[i] = f(x[i], s[i], z[i]);
  });
}

/// saturate(round half to even(exact) + zero) of floats for types of at most 16 bits: adding and subtracting 1.5 · 2^23 rounds the bounded
/// number. NaN becomes the lower end.
template <class Out>
[[gnu::always_inline]] inline Out quantized(float exact, float zero) {
  constexpr float kRounder = 12582912.0F, kBound = 2097152.0F;
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number, no character
  constexpr int32_t kLow = std::numeric_limits<Out>::min(), kHigh = std::numeric_limits<Out>::max();
  const float above = exact > -kBound ? exact : -kBound;
  const float bounded = above < kBound ? above : kBound;
  const auto shifted = static_cast<int32_t>(((bounded + kRounder) - kRounder) + zero);
  const int32_t raised = shifted > kLow ? shifted : kLow;
  return static_cast<Out>(raised < kHigh ? raised : kHigh);
}

template <class Out>
RELAYOUT_VECTORIZE void quantize_run(const float* x, const float* s, const float* z, int64_t count, Out* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = quantized<Out>(x[i] / s[i], z[i]);
}

/// The two halves of quantize_run(): division and rounding.
RELAYOUT_VECTORIZE void divide_run(const float* x, const float* s, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] / s[i];
}

template <class Out>
RELAYOUT_VECTORIZE void round_run(const float* exact, const float* z, int64_t count, Out* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = quantized<Out>(exact[i], z[i]);
}

template <class X>
RELAYOUT_VECTORIZE void dequantize_run(const X* x, const float* s, const float* z, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(x[i]) - z[i]) * s[i];
}

constexpr TypeSet kShortTypes{DataType::uint8, DataType::int8, DataType::uint16, DataType::int16};

void check_parameters(const OpCall& call, InputInfos inputs, const Dims& x, TypeSet zero_types) {
  require_inputs(call, inputs, 2, 3);
  const DatumInfo& scale = tensor_info(call, inputs, 1, kScaleTypes);
  check_granularity(call, x, scale.dims);
  const DatumInfo* zero = optional_tensor_info(call, inputs, 2, zero_types);
  if (zero != nullptr && element_count(zero->dims) != element_count(scale.dims)) {
    reject(call, "zero point of dims " + to_string(zero->dims) + " for a scale of dims " + to_string(scale.dims));
  }
}

/// Quantizes to types of at most 16 bits in f32, with the quotient rounded to `precision`.
void quantize_short(const OpCall& call, InputData inputs, const Tensor& out, DataType precision) {
  with_native_type(out.type(), [&]<class Out>(Out) {
    if constexpr (sizeof(Out) <= sizeof(int16_t)) {
      map_quantized<float, float, Out>(call, inputs, out, [=](const float* x, const float* s, const float* z, int64_t count, Out* to) {
        if (!kHalfTypes.has(precision)) return quantize_run(x, s, z, count, to);
        std::array<float, kChunk> quotients;
        divide_run(x, s, count, quotients.data());
        round_to(precision, quotients.data(), count);
        round_run(quotients.data(), z, count, to);
      });
    }
  });
}

}  // namespace

Inferred infer_quantize_linear(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes | TypeSet{DataType::int32});
  check_parameters(call, inputs, x.dims, kQuantizedTypes);
  const DatumInfo* zero = optional_info(inputs, 2);
  const auto named = optional_type(call, "output_dtype");
  if (named && (!kQuantizedTypes.has(*named) || (zero != nullptr && zero->type != *named))) reject(call, "output_dtype does not fit");
  return results(call, tensor_of(zero != nullptr ? zero->type : named.value_or(DataType::uint8), x.dims));
}

/// saturate(round half to even(x / scale) + zero point); the division runs in the scale's type or attribute precision.
void quantize_linear(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const DataType precision = optional_type(call, "precision").value_or(tensor_at(inputs, 1).type());
  if (precision == DataType::float64 && traits(out.type()).is_float) refuse(call, "8-bit floats from f64");
  const DataType type = tensor_at(inputs, 0).type();
  if ((precision == DataType::float32 && type == DataType::float32) ||
      (kHalfTypes.has(precision) && (kHalfTypes.has(type) || type == DataType::float32))) {
    if (kShortTypes.has(out.type())) return quantize_short(call, inputs, out, precision);
  }
  const auto divide = [precision](double x, double s) { return quotient(precision, x, s); };
  if (!traits(out.type()).is_float) {
    const auto range = range_of(out.type());
    return map_quantized_one(call, inputs, out,
                             [&](double x, double s, double z) { return saturated(std::nearbyint(divide(x, s)) + z, range); });
  }
  const bool saturate = call.attributes.integer("saturate", 1) != 0 || !kFloat8Types.has(out.type());
  const Tensor codes(DataType::uint8, out.dims());
  map_quantized_one(call, inputs, codes, [&](double x, double s, double z) {
    return double{static_cast<float>(encode_small_float(out.type(), divide(x, s) + z, saturate))};
  });
  copy_elements(call.threads, out, Tensor(TensorDesc{out.type(), codes.dims(), codes.strides()}, codes.bytes(), codes.owner()));
}

Inferred infer_dequantize_linear(const OpCall& call, InputInfos inputs) {
  const TypeSet types = kQuantizedTypes | TypeSet{DataType::int32};
  const DatumInfo& x = tensor_info(call, inputs, 0, types);
  check_parameters(call, inputs, x.dims, types);
  const DataType scale_type = inputs[1]->type;
  const auto named = optional_type(call, "output_dtype");
  if (named && !kRealTypes.has(*named)) reject(call, "output_dtype is no floating-point type");
  return results(call, tensor_of(named.value_or(kRealTypes.has(scale_type) ? scale_type : DataType::float32), x.dims));
}

void dequantize_linear(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  // The difference is exact in either domain, the product rounded once.
  const DataType type = tensor_at(inputs, 0).type();
  if (kShortTypes.has(type) && tensor_at(inputs, 1).type() == DataType::float32 && out.type() == DataType::float32) {
    return with_native_type(type, [&]<class X>(X) {
      if constexpr (sizeof(X) <= sizeof(int16_t)) map_quantized<float, X, float>(call, inputs, out, dequantize_run<X>);
    });
  }
  map_quantized_one(call, inputs, out, [](double x, double s, double z) { return (x - z) * s; });
}

Inferred infer_dynamic_quantize_linear(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, {DataType::float32});
  std::vector<DatumInfo> all = results(call, tensor_of(DataType::uint8, x.dims));
  if (all.size() > 1) all[1] = tensor_of(DataType::float32, {});
  if (all.size() > 2) all[2] = tensor_of(DataType::uint8, {});
  return all;
}

namespace {

/// Extends [low, high] by values; ignores NaN.
RELAYOUT_VECTORIZE void widen_range(const float* values, int64_t count, float& low, float& high) {
  constexpr int64_t kLanes = 32;
  float lows[kLanes], highs[kLanes];
  std::fill_n(lows, kLanes, low);
  std::fill_n(highs, kLanes, high);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      lows[lane] = value < lows[lane] ? value : lows[lane];
      highs[lane] = value > highs[lane] ? value : highs[lane];
    }
  }
  for (; i < count; ++i) {
    lows[0] = values[i] < lows[0] ? values[i] : lows[0];
    highs[0] = values[i] > highs[0] ? values[i] : highs[0];
  }
  low = *std::ranges::min_element(lows);
  high = *std::ranges::max_element(highs);
}

RELAYOUT_VECTORIZE void quantize_bytes(const float* x, float scale, float zero, int64_t count, uint8_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = quantized<uint8_t>(x[i] / scale, zero);
}

}  // namespace

/// Scale and zero point of [min(x, 0), max(x, 0)] over 0 to 255, in f32 as in the function body.
void dynamic_quantize_linear(const OpCall& call, InputData inputs, OutputData outputs) {
  constexpr float kLargest = 255;
  const Tensor& x = tensor_at(inputs, 0);
  float low = 0, high = 0;
  const StridedLoop loop(x.dims(), {operand(x)});
  loop.run([&](std::byte* const* data, const int64_t* strides, int64_t count) {
    const auto* values = reinterpret_cast<const float*>(data[0]);
    if (strides[0] == 1) return widen_range(values, count, low, high);
    for (int64_t i = 0; i < count; ++i) {
      low = std::fmin(low, values[i * strides[0]]);
      high = std::fmax(high, values[i * strides[0]]);
    }
  });
  const float scale = (low == high ? 1.0F : high - low) / kLargest;
  const float zero = std::nearbyint(std::fmin(std::fmax(0.0F - low / scale, 0.0F), kLargest));
  if (const Tensor* out = wanted(outputs, 0)) {
    const StridedLoop both(x.dims(), {operand(*out), operand(x)});
    if (out->is_contiguous() && x.is_contiguous()) {
      both.run(call.threads, [=](std::byte* const* data, const int64_t*, int64_t count) {
        quantize_bytes(reinterpret_cast<const float*>(data[1]), scale, zero, count, reinterpret_cast<uint8_t*>(data[0]));
      });
    } else
      map_elements<float, float>(
          call.threads, *out, [=](float value) { return std::fmin(std::fmax(std::nearbyint(value / scale) + zero, 0.0F), kLargest); }, x);
  }
  if (const Tensor* out = wanted(outputs, 1)) *out->data<float>() = scale;
  if (const Tensor* out = wanted(outputs, 2)) *out->data<uint8_t>() = static_cast<uint8_t>(zero);
}

namespace {

/// The low 32 bits, since i32 sums wrap.
double wrapped(double sum) {
  return static_cast<int32_t>(static_cast<uint64_t>(static_cast<int64_t>(sum)));
}

void check_scalar(const OpCall& call, InputInfos inputs, std::size_t index, TypeSet types) {
  if (element_count(tensor_info(call, inputs, index, types).dims) != 1) reject(call, "input " + std::to_string(index) + " is not a scalar");
}

void check_per_channel(const OpCall& call, const DatumInfo* parameter, int64_t channels) {
  if (parameter == nullptr || element_count(parameter->dims) == 1 || parameter->dims == Dims{channels}) return;
  reject(call, "a parameter of dims " + to_string(parameter->dims) + " for " + std::to_string(channels) + " output channels");
}

/// Values of a parameter that has one value for all channels or one per channel.
std::function<double(int64_t)> per_channel(const Tensor& parameter) {
  return [values = reals_of(parameter)](int64_t channel) { return values[values.size() == 1 ? 0 : as_size(channel)]; };
}

}  // namespace

Inferred infer_conv_integer(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 4);
  const DatumInfo& x = tensor_info(call, inputs, 0, kEightBits);
  const DatumInfo& w = tensor_info(call, inputs, 1, kEightBits);
  if (optional_info(inputs, 2) != nullptr) check_scalar(call, inputs, 2, kEightBits);
  const Dims dims = convolution_shape(call, x.dims, w.dims).dims;
  check_per_channel(call, optional_tensor_info(call, inputs, 3, kEightBits), w.dims[0]);
  return one(call, DataType::int32, dims);
}

/// Products of 8-bit numbers and their sums are exact in double.
void conv_integer(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &w = tensor_at(inputs, 1);
  const ConvolutionShape shape = convolution_shape(call, x.dims(), w.dims());
  ConvolutionParts parts{x, w, outputs[0]->tensor, shape.window, shape.groups, 0, {}, {}};
  if (present(inputs, 2)) parts.x_zero_point = real_of(call, tensor_at(inputs, 2));
  if (present(inputs, 3)) parts.w_zero_point = per_channel(tensor_at(inputs, 3));
  parts.finish = [](int64_t, int64_t count, double* values) {
    for (int64_t i = 0; i < count; ++i) values[i] = wrapped(values[i]);
  };
  convolve(call.threads, parts);
}

Inferred infer_qlinear_conv(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 8, 9);
  const DatumInfo& x = tensor_info(call, inputs, 0, kEightBits);
  const DatumInfo& w = tensor_info(call, inputs, 3, kEightBits);
  for (const std::size_t i : {std::size_t{1}, std::size_t{6}}) check_scalar(call, inputs, i, kRealTypes);
  for (const std::size_t i : {std::size_t{2}, std::size_t{7}}) check_scalar(call, inputs, i, kEightBits);
  const Dims dims = convolution_shape(call, x.dims, w.dims).dims;
  check_per_channel(call, &tensor_info(call, inputs, 4, kRealTypes), w.dims[0]);
  check_per_channel(call, &tensor_info(call, inputs, 5, kEightBits), w.dims[0]);
  if (const DatumInfo* bias = optional_tensor_info(call, inputs, 8, {DataType::int32}); bias != nullptr && bias->dims != Dims{w.dims[0]}) {
    reject(call, "bias of dims " + to_string(bias->dims) + " for " + std::to_string(w.dims[0]) + " channels");
  }
  return one(call, inputs[7]->type, dims);
}

/// saturate(round half to even((Σ + bias) · x_scale · w_scale / y_scale) + zero point); the factor and the product are f32.
void qlinear_conv(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &w = tensor_at(inputs, 3), &out = outputs[0]->tensor;
  const ConvolutionShape shape = convolution_shape(call, x.dims(), w.dims());
  ConvolutionParts parts{x, w, out, shape.window, shape.groups, real_of(call, tensor_at(inputs, 2)), per_channel(tensor_at(inputs, 5)), {}};
  const auto x_scale = static_cast<float>(real_of(call, tensor_at(inputs, 1))),
             y_scale = static_cast<float>(real_of(call, tensor_at(inputs, 6)));
  const double zero = real_of(call, tensor_at(inputs, 7));
  const auto w_scale = per_channel(tensor_at(inputs, 4));
  const std::vector<double> bias = present(inputs, 8) ? reals_of(tensor_at(inputs, 8)) : std::vector<double>();
  const auto range = range_of(out.type());
  parts.finish = [&](int64_t m, int64_t count, double* values) {
    const float factor = x_scale * static_cast<float>(w_scale(m)) / y_scale;
    const double addend = bias.empty() ? 0 : element_at(bias, m);
    for (int64_t i = 0; i < count; ++i) {
      const float scaled = static_cast<float>(wrapped(values[i] + addend)) * factor;
      values[i] = saturated(double{std::nearbyint(scaled)} + zero, range);
    }
  };
  convolve(call.threads, parts);
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the analyzer does not see that std::function frees its target

namespace {

/// A parameter of a matrix operand, aligned to its dims: a vector has one value per row (of a) or per column (of b).
Tensor aligned_parameter(const Tensor& parameter, bool along_rows) {
  if (parameter.element_count() == 1) return parameter.view({}, {});
  if (parameter.rank() != 1 || !along_rows) return parameter;
  return parameter.view({parameter.dims()[0], 1}, {parameter.strides()[0], 1});
}

void check_matrix_parameter(const OpCall& call, const DatumInfo* parameter, const Dims& matrix, bool along_rows) {
  if (parameter == nullptr || element_count(parameter->dims) == 1) return;
  Dims dims = parameter->dims;
  if (dims.size() == 1 && along_rows) dims.push_back(1);
  if (dims.size() > matrix.size() || broadcast_dims(call, matrix, dims) != matrix) {
    reject(call, "a parameter of dims " + to_string(parameter->dims) + " for a matrix of dims " + to_string(matrix));
  }
}

/// A matrix operand minus its zero point, in double.
Tensor centered(const OpCall& call, InputData inputs, std::size_t index, std::size_t zero_index, bool along_rows) {
  const Tensor& matrix = tensor_at(inputs, index);
  Tensor result(DataType::float64, matrix.dims());
  if (!present(inputs, zero_index)) {
    map_elements<double, double>(call.threads, result, [](double x) { return x; }, matrix);
    return result;
  }
  const Tensor zero = aligned_parameter(tensor_at(inputs, zero_index), along_rows);
  map_elements<double, double>(call.threads, result, [](double x, double z) { return x - z; }, matrix, zero);
  return result;
}

}  // namespace

Inferred infer_matmul_integer(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 4);
  const DatumInfo& a = tensor_info(call, inputs, 0, kEightBits);
  const DatumInfo& b = tensor_info(call, inputs, 1, kEightBits);
  check_matrix_parameter(call, optional_tensor_info(call, inputs, 2, kEightBits), a.dims, true);
  check_matrix_parameter(call, optional_tensor_info(call, inputs, 3, kEightBits), b.dims, false);
  return one(call, DataType::int32, matmul_shape(call, a.dims, b.dims).dims);
}

void matmul_integer(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor product(DataType::float64, outputs[0]->tensor.dims());
  multiply_tensors(call, centered(call, inputs, 0, 2, true), centered(call, inputs, 1, 3, false), product);
  map_elements<double, double>(call.threads, outputs[0]->tensor, wrapped, product);
}

Inferred infer_qlinear_matmul(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 8, 8);
  const TypeSet types = kEightBits | kFloat8Types;
  const DatumInfo& a = tensor_info(call, inputs, 0, types);
  const DatumInfo& b = tensor_info(call, inputs, 3, types);
  const Dims dims = matmul_shape(call, a.dims, b.dims).dims;
  check_matrix_parameter(call, &tensor_info(call, inputs, 1, kRealTypes), a.dims, true);
  check_matrix_parameter(call, &tensor_info(call, inputs, 2, types), a.dims, true);
  check_matrix_parameter(call, &tensor_info(call, inputs, 4, kRealTypes), b.dims, false);
  check_matrix_parameter(call, &tensor_info(call, inputs, 5, types), b.dims, false);
  check_matrix_parameter(call, &tensor_info(call, inputs, 6, kRealTypes), dims, true);
  check_matrix_parameter(call, &tensor_info(call, inputs, 7, types), dims, true);
  return one(call, inputs[7]->type, dims);
}

/// As qlinear_conv, with scales per row of a and of the result and per column of b.
void qlinear_matmul(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const Tensor product(DataType::float64, out.dims());
  multiply_tensors(call, centered(call, inputs, 0, 2, true), centered(call, inputs, 3, 5, false), product);
  const bool is_float = traits(out.type()).is_float;
  const auto range = range_of(out.type());
  const auto requantize = [&](double sum, double a_scale, double b_scale, double y_scale, double zero) {
    const float factor = static_cast<float>(a_scale) * static_cast<float>(b_scale) / static_cast<float>(y_scale);
    const float scaled = static_cast<float>(sum) * factor;
    return is_float ? double{scaled} : saturated(double{std::nearbyint(scaled)} + zero, range);
  };
  map_elements<double, double>(call.threads, out, requantize, product, aligned_parameter(tensor_at(inputs, 1), true),
                               aligned_parameter(tensor_at(inputs, 4), false), aligned_parameter(tensor_at(inputs, 6), true),
                               aligned_parameter(tensor_at(inputs, 7), true));
}

}  // namespace relayout::kernels
