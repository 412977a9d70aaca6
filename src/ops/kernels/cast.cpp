// Converts tensors between element types, strings included.

#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstdlib>

#include "base/numbers.h"
#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/element_conversion.h"
#include "ops/loops/strided.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

constexpr TypeSet kCastTypes = kNumericTypes | kBooleanTypes | kStringTypes | kSmallTypes;

/// Attribute `to`: a number, before opset 6 the name of a type.
DataType cast_target(const OpCall& call) {
  int64_t number = 0;
  if (call.opset < kCastByNumber) {
    const std::string name = call.attributes.text("to", "");
    onnx::TensorProto::DataType parsed{};
    if (!onnx::TensorProto::DataType_Parse(name, &parsed)) reject(call, "attribute 'to' names no type");
    number = parsed;
  } else {
    number = call.attributes.integer("to", 0);
  }
  const DataTypeTraits* const found = find_traits(number);
  if (found == nullptr) reject(call, "attribute 'to' is " + std::to_string(number) + ", which is no type");
  if (!kCastTypes.has(found->type)) refuse(call, "no cast to " + std::string(found->name));
  return found->type;
}

/// A string as a number: decimal or scientific notation, "inf", "nan" in any case, surrounding blanks ignored.
template <class Domain>
Domain parse(const OpCall& call, const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  const std::string trimmed = begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
  const char* const first = trimmed.data() + (trimmed.starts_with('+') ? 1 : 0);
  const char* const last = trimmed.data() + trimmed.size();
  Domain value{};
  const auto [stop, error] = std::from_chars(first, last, value);
  if (error == std::errc{} && stop == last) return value;
  if constexpr (std::is_integral_v<Domain>) {  // "3.0" and "1e3" are integers too
    return static_cast<Domain>(parse<double>(call, text));
  } else {
    if (error == std::errc::result_out_of_range && stop == last) return std::strtod(trimmed.c_str(), nullptr);
    reject(call, "a string is not a number");
  }
}

void cast_from_strings(const OpCall& call, const Tensor& from, const Tensor& to) {
  const StridedLoop loop(to.dims(), {operand(to), operand(from)});
  with_wide_domain(to.type(), [&]<class Domain>(Domain) {
    loop.run([&](std::byte* const* data, const int64_t* strides, int64_t count) {
      const auto* texts = reinterpret_cast<const std::string*>(data[1]);
      for (int64_t i = 0; i < count; ++i) {
        const Domain value = parse<Domain>(call, texts[i * strides[1]]);
        store_one(to.type(), data[0] + i * strides[0] * element_stride(to.type()), value);
      }
    });
  });
}

/// Shortest decimal form that reads back as the same value; "NaN", "INF", "-INF".
template <class Number>
std::string format(Number value) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(value)) return "NaN";
    return std::isinf(value) ? (value > 0 ? "INF" : "-INF") : shortest(value);
  } else {
    return std::to_string(value);
  }
}

void cast_to_strings(const Tensor& from, const Tensor& to) {
  const StridedLoop loop(to.dims(), {operand(to), operand(from)});
  with_exact_domain(from.type(), [&]<class Domain>(Domain) {
    loop.run([&](std::byte* const* data, const int64_t* strides, int64_t count) {
      auto* texts = reinterpret_cast<std::string*>(data[0]);
      for (int64_t i = 0; i < count; ++i) {
        texts[i * strides[0]] = format(load_one<Domain>(from.type(), data[1] + i * strides[1] * element_stride(from.type())));
      }
    });
  });
}

/// float8e8m0 holds powers of two only: attribute `round_mode` selects one of the two around a value.
enum class PowerRounding { up, down, nearest };

PowerRounding power_rounding(const OpCall& call) {
  const std::string mode = call.attributes.text("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest") reject(call, "round_mode is none of up, down, nearest");
  return mode == "up" ? PowerRounding::up : mode == "down" ? PowerRounding::down : PowerRounding::nearest;
}

double to_power_of_two(double value, PowerRounding rounding) {
  if (rounding == PowerRounding::nearest || !std::isfinite(value) || value <= 0) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  return std::ldexp(rounding == PowerRounding::up && fraction > 0.5 ? 1.0 : 0.5, exponent);
}

void cast_to_small_float(const OpCall& call, const Tensor& from, const Tensor& to, bool saturate) {
  const DataType type = to.type();
  const PowerRounding rounding = type == DataType::float8e8m0 ? power_rounding(call) : PowerRounding::nearest;
  const StridedLoop loop(to.dims(), {operand(to), operand(from)});
  loop.run(call.threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
    std::array<double, kChunk> values;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t length = std::min(kChunk, count - begin);
      load(from.type(), data[1] + begin * strides[1] * element_stride(from.type()), strides[1], length, values.data());
      for (int64_t i = 0; i < length; ++i) {
        const uint16_t code = encode_small_float(type, to_power_of_two(element_at(values, i), rounding), saturate);
        data[0][(begin + i) * strides[0]] = static_cast<std::byte>(code);
      }
    }
  });
}

/// Converts directly between types that C++ computes in, else through the domain of the source; elements read as floats are rounded once.
void convert_numbers(const OpCall& call, const Tensor& from, const Tensor& to) {
  const StridedLoop loop(to.dims(), {operand(to), operand(from)});
  const DataType type = from.type(), to_type = to.type();
  const auto size = element_stride(type), to_size = element_stride(to_type);
  const auto convert_as = [&]<class Domain>(Domain) {
    loop.run(call.threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
      if (strides[0] == 1 && strides[1] == 1 && convert_run(type, data[1], to_type, data[0], count)) return;
      if (strides[0] == 1 && is_native<Domain>(to_type)) return load(type, data[1], strides[1], count, reinterpret_cast<Domain*>(data[0]));
      if (strides[1] == 1 && is_native<Domain>(type)) return store(to_type, data[0], strides[0], count, reinterpret_cast<Domain*>(data[1]));
      std::array<Domain, kChunk> values;
      for (int64_t begin = 0; begin < count; begin += kChunk) {
        const int64_t length = std::min(kChunk, count - begin);
        load(type, data[1] + begin * strides[1] * size, strides[1], length, values.data());
        store(to_type, data[0] + begin * strides[0] * to_size, strides[0], length, values.data());
      }
    });
  };
  if (to_type == DataType::float32) return convert_as(float{});
  // Exact in double, from which 16-bit floats are converted a run at a time.
  if (traits(type).is_integer && traits(type).bits <= 32 && is_float(to_type)) return convert_as(double{});
  with_exact_domain(type, convert_as);
}

void convert(const OpCall& call, const Tensor& from, const Tensor& to) {
  if (from.type() == to.type()) return copy_elements(call.threads, to, from);
  if (from.type() == DataType::string) return cast_from_strings(call, from, to);
  if (to.type() == DataType::string) return cast_to_strings(from, to);
  if (traits(to.type()).is_float && traits(to.type()).bits <= 8) {
    return cast_to_small_float(call, from, to, call.attributes.integer("saturate", 1) != 0);
  }
  // Out of range the result is undefined; the reference saturates up to opset 24 and drops the upper bits from 25 on.
  constexpr int64_t kWrappingOpset = 25;
  const bool is_narrow = traits(to.type()).is_integer && traits(to.type()).bits < 8;
  if (is_narrow && call.opset >= kWrappingOpset) {
    return map_elements<int64_t, int64_t>(call.threads, to, [](int64_t x) { return x; }, from);
  }
  convert_numbers(call, from, to);
}

}  // namespace

Inferred infer_cast(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& input = tensor_info(call, inputs, 0, kCastTypes);
  return results(call, tensor_of(cast_target(call), input.dims));
}

void cast(const OpCall& call, InputData inputs, OutputData outputs) {
  convert(call, tensor_at(inputs, 0), outputs[0]->tensor);
}

Inferred infer_cast_like(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& input = tensor_info(call, inputs, 0, kCastTypes);
  return results(call, tensor_of(tensor_info(call, inputs, 1, kCastTypes).type, input.dims));
}

void cast_like(const OpCall& call, InputData inputs, OutputData outputs) {
  convert(call, tensor_at(inputs, 0), outputs[0]->tensor);
}

Inferred infer_bit_cast(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& input = tensor_info(call, inputs, 0, kNumericTypes | kBooleanTypes | kSmallTypes);
  const DataType type = cast_target(call);
  if (traits(type).bits != traits(input.type).bits) {
    reject(call, "types " + std::string(name_of(input.type)) + " and " + std::string(name_of(type)) + " differ in size");
  }
  return results(call, tensor_of(type, input.dims));
}

void bit_cast(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& from = tensor_at(inputs, 0);
  const Tensor& to = outputs[0]->tensor;
  const Tensor renamed(TensorDesc{to.type(), from.dims(), from.strides()}, from.bytes(), from.owner());
  copy_elements(call.threads, to, renamed);
}

}  // namespace relayout::kernels
