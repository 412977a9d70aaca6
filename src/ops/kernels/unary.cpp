// Elementwise operators of one operand: activations (Relu, Gelu, Swish, Selu, …), Exp, Log, Sqrt, trigonometry, roundings, Abs, Sign, Not,
// BitwiseNot, IsNaN, IsInf; in double for real types.

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>

#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

Inferred infer_same(const OpCall& call, InputInfos inputs, TypeSet types) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& input = tensor_info(call, inputs, 0, types);
  return results(call, tensor_of(input.type, input.dims));
}

/// A function of one real number: computed in double, rounded once.
template <class F>
void map_real(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  map_elements<double, double>(call.threads, outputs[0]->tensor, f, tensor_at(inputs, 0));
}

/// A function that is exact in every type.
template <class F>
void map_exact(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  with_native_type(tensor_at(inputs, 0).type(), [&]<class T>(T) {
    map_elements<T, T>(call.threads, outputs[0]->tensor, [f](T x) { return static_cast<T>(f(x)); }, tensor_at(inputs, 0));
  });
}

/// A test of each element. Floats of at most 32 bits are tested as float.
template <class F>
void map_test(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  with_exact_domain(tensor_at(inputs, 0).type(), [&]<class Domain>(Domain) {
    map_elements<uint8_t, Domain>(
        call.threads, as_bytes(outputs[0]->tensor), [f](Domain x) { return static_cast<uint8_t>(f(x)); }, tensor_at(inputs, 0));
  });
}

/// −x, wrapping.
template <class T>
T negated(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return -x;
  else
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
}

/// log(1 + exp(x)) without overflow.
double softplus_of(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

Inferred infer_real_unary(const OpCall& call, InputInfos inputs) {
  return infer_same(call, inputs, kRealTypes);
}
Inferred infer_numeric_unary(const OpCall& call, InputInfos inputs) {
  return infer_same(call, inputs, kNumericTypes);
}
Inferred infer_integer_unary(const OpCall& call, InputInfos inputs) {
  return infer_same(call, inputs, kIntegerTypes);
}
Inferred infer_boolean_unary(const OpCall& call, InputInfos inputs) {
  return infer_same(call, inputs, kBooleanTypes);
}

Inferred infer_test_unary(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& input = tensor_info(call, inputs, 0, kRealTypes | kSmallTypes);
  return results(call, tensor_of(DataType::boolean, input.dims));
}

void acos(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::acos(x); });
}
void acosh(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::acosh(x); });
}
void asin(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::asin(x); });
}
void asinh(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::asinh(x); });
}
void atan(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::atan(x); });
}
void atanh(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::atanh(x); });
}
void ceil(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::ceil(x); });
}
void cos(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::cos(x); });
}
void cosh(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::cosh(x); });
}
void erf(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::erf(x); });
}
void exp(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::exp(x); });
}
void floor(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::floor(x); });
}
void hard_swish(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) {
    const double gate = x / 6 + 0.5;
    return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
  });
}
void log(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::log(x); });
}
void mish(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return x * std::tanh(softplus_of(x)); });
}
void reciprocal(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) { return 1 / x; });
}
/// Half to even.
void round(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::nearbyint(x); });
}
void sigmoid(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, sigmoid_of);
}
void sine(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::sin(x); });
}
void sinh(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::sinh(x); });
}
void softplus(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, softplus_of);
}
void softsign(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return x / (1 + std::abs(x)); });
}
void tan(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::tan(x); });
}
void tanh(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::tanh(x); });
}

void sqrt(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::sqrt(x);
    else
      return x;
  });
}

void abs(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::abs(x);
    else
      return x < 0 ? negated(x) : x;
  });
}

void negate(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) { return negated(x); });
}

/// NaN stays NaN, −0 stays −0.
void relu(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) { return x < 0 ? decltype(x){0} : x; });
}

void sign(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) { return x > 0 ? decltype(x){1} : x < 0 ? static_cast<decltype(x)>(-1) : x; });
}

void celu(const OpCall& c, InputData in, OutputData out) {
  const double alpha = c.attributes.real("alpha", 1.0F);
  map_real(c, in, out, [alpha](double x) { return x > 0 || std::isnan(x) ? x : alpha * std::expm1(x / alpha); });
}

void elu(const OpCall& c, InputData in, OutputData out) {
  const double alpha = c.attributes.real("alpha", 1.0F);
  map_real(c, in, out, [alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

void gelu(const OpCall& c, InputData in, OutputData out) {
  const std::string approximate = c.attributes.text("approximate", "none");
  if (approximate == "none") return map_real(c, in, out, [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); });
  if (approximate != "tanh") reject(c, "approximate is neither none nor tanh");
  map_real(c, in, out, [](double x) {
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
  });
}

void hard_sigmoid(const OpCall& c, InputData in, OutputData out) {
  const double alpha = c.attributes.real("alpha", 0.2F);
  const double beta = c.attributes.real("beta", 0.5F);
  map_real(c, in, out, [alpha, beta](double x) {
    const double y = alpha * x + beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;
  });
}

void leaky_relu(const OpCall& c, InputData in, OutputData out) {
  const double alpha = c.attributes.real("alpha", 0.01F);
  map_real(c, in, out, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

void selu(const OpCall& c, InputData in, OutputData out) {
  const bool first = c.opset < 6;
  const double alpha = c.attributes.real("alpha", first ? 1.6732F : 1.67326319217681884765625F);
  const double gamma = c.attributes.real("gamma", first ? 1.0507F : 1.05070102214813232421875F);
  map_real(c, in, out, [alpha, gamma](double x) { return x > 0 || std::isnan(x) ? gamma * x : gamma * alpha * std::expm1(x); });
}

/// NaN gives 0, as it is neither above nor below (function body of Shrink 9).
void shrink(const OpCall& c, InputData in, OutputData out) {
  const double bias = c.attributes.real("bias", 0.0F);
  const double lambd = c.attributes.real("lambd", 0.5F);
  map_real(c, in, out, [bias, lambd](double x) { return x < -lambd ? x + bias : x > lambd ? x - bias : 0; });
}

void swish(const OpCall& c, InputData in, OutputData out) {
  const double alpha = c.attributes.real("alpha", 1.0F);
  map_real(c, in, out, [alpha](double x) { return x * sigmoid_of(alpha * x); });
}

/// NaN gives 0, as it is not above (function body of ThresholdedRelu 10).
void thresholded_relu(const OpCall& c, InputData in, OutputData out) {
  const double alpha = c.attributes.real("alpha", 1.0F);
  map_real(c, in, out, [alpha](double x) { return x > alpha ? x : 0; });
}

void logical_not(const OpCall& c, InputData in, OutputData out) {
  map_elements<uint8_t, uint8_t>(
      c.threads, as_bytes(out[0]->tensor), [](uint8_t x) { return static_cast<uint8_t>(x == 0); }, as_bytes(tensor_at(in, 0)));
}

void bitwise_not(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return x;
    else
      return static_cast<decltype(x)>(~x);
  });
}

void is_nan(const OpCall& c, InputData in, OutputData out) {
  map_test(c, in, out, [](auto x) { return x != x; });
}

void is_inf(const OpCall& c, InputData in, OutputData out) {
  const bool positive = c.attributes.integer("detect_positive", 1) != 0;
  const bool negative = c.attributes.integer("detect_negative", 1) != 0;
  map_test(c, in, out, [positive, negative](auto x) {
    constexpr auto kInfinity = std::numeric_limits<decltype(x)>::infinity();  // 0 for integers
    if constexpr (std::is_integral_v<decltype(x)>) return false;
    return (positive && x == kInfinity) || (negative && x == -kInfinity);
  });
}

}  // namespace relayout::kernels
