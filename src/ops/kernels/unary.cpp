// Computes elementwise operators of one operand, in double for real types.

#include <limits>

#include "ops/call.h"
#include "ops/formulas.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
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

using Math = elementwise::DoubleMath;

/// f(x, alpha, beta) with the node's parameters, in double.
template <class F>
void map_activation(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  const auto parameters = elementwise::parameters_of(call.node.op_type(), call.attributes, call.opset);
  map_real(call, inputs, outputs,
           [f, alpha = double{parameters.alpha}, beta = double{parameters.beta}](double x) { return f(x, alpha, beta); });
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
  map_real(c, in, out, [](double x) { return elementwise::hard_swish(x, elementwise::kHardSwishAlpha, elementwise::kHardSwishBeta); });
}
void log(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::log(x); });
}
void mish(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return elementwise::mish<Math>(x); });
}
void reciprocal(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) { return 1 / x; });
}
void round(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return elementwise::round(x); });
}
void sigmoid(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, Math::sigmoid);
}
void sine(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::sin(x); });
}
void sinh(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return std::sinh(x); });
}
void softplus(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, Math::softplus);
}
void softsign(const OpCall& c, InputData in, OutputData out) {
  map_real(c, in, out, [](double x) { return elementwise::softsign(x); });
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

void relu(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) { return elementwise::relu(x); });
}

void sign(const OpCall& c, InputData in, OutputData out) {
  map_exact(c, in, out, [](auto x) { return x > 0 ? decltype(x){1} : x < 0 ? static_cast<decltype(x)>(-1) : x; });
}

void celu(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double alpha, double) { return elementwise::celu<Math>(x, alpha); });
}

void elu(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double alpha, double) { return elementwise::elu<Math>(x, alpha); });
}

void gelu(const OpCall& c, InputData in, OutputData out) {
  const std::string approximate = c.attributes.text("approximate", "none");
  if (approximate == "none") return map_real(c, in, out, [](double x) { return elementwise::gelu<Math>(x); });
  if (approximate != "tanh") reject(c, "approximate is neither none nor tanh");
  map_real(c, in, out, [](double x) { return elementwise::gelu_tanh<Math>(x); });
}

void hard_sigmoid(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double alpha, double beta) { return elementwise::hard_sigmoid(x, alpha, beta); });
}

void leaky_relu(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double alpha, double) { return elementwise::leaky_relu(x, alpha); });
}

void selu(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double alpha, double gamma) { return elementwise::selu<Math>(x, alpha, gamma); });
}

void shrink(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double lambd, double bias) { return elementwise::shrink(x, lambd, bias); });
}

void swish(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double alpha, double) { return elementwise::swish<Math>(x, alpha); });
}

void thresholded_relu(const OpCall& c, InputData in, OutputData out) {
  map_activation(c, in, out, [](double x, double alpha, double) { return elementwise::thresholded_relu(x, alpha); });
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
