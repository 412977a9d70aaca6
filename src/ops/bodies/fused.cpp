// Writes bodies of operators that other tools fused: products with activations, forms of GELU, normalized sums.
#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "ops/op_attributes.h"
#include "relayout/types.h"

namespace relayout::bodies {

// A product, then the activation that an attribute names.
namespace {

/// onnxruntime/contrib_ops/cpu/fused_activation.cc: names, and the length of `activation_params`.
Body::Name after_convolution(Body& body, const Body::Name& x) {
  const std::string name = body.attributes().text("activation", "");
  const std::vector<float> parameters = body.attributes().reals("activation_params");
  const auto require = [&](std::size_t count) {
    if (parameters.size() != count) body.reject(name + " has " + std::to_string(parameters.size()) + " activation_params");
  };
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid") return body.make(name, {x});
  if (name == "Silu") return body.make("Swish", {x});
  if (name == "LeakyRelu") {
    require(1);
    return body.make(name, {x}, {{"alpha", parameters[0]}});
  }
  if (name == "Clip") {
    require(2);
    return body.make(name, {x, body.like(parameters[0], x), body.like(parameters[1], x)});
  }
  if (name == "HardSigmoid") {
    require(2);
    return body.make(name, {x}, {{"alpha", parameters[0]}, {"beta", parameters[1]}});
  }
  body.refuse("activation '" + name + "'");
}

/// Each attribute `activation_x` is attribute `x` of the activation and is required.
Body::Name after_gemm(Body& body, const Body::Name& x) {
  const std::string name = body.attributes().text("activation", "");
  const auto parameters = activation_parameters(name);
  if (!parameters) body.refuse("activation '" + name + "'");
  Body::NamedAttributes attributes;
  for (const std::string_view parameter : *parameters) {
    const auto value = body.attributes().real("activation_" + std::string(parameter));
    if (!value) body.reject(name + " without activation_" + std::string(parameter));
    attributes.emplace_back(parameter, *value);
  }
  return body.make(name, {x}, attributes);
}

}  // namespace

void fused_conv(Body& body) {
  const auto attributes = body.given({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  Body::Name sum = body.make("Conv", {body.input(0), body.input(1), body.input(2)}, attributes);
  if (body.has(3)) sum = body.make("Add", {sum, body.input(3)});
  body.give(0, after_convolution(body, sum));
}

/// Images have channels last in input and result; weights are those of Conv.
void nhwc_conv(Body& body) {
  const auto kernel = body.attributes().integers("kernel_shape");
  const auto rank = kernel.empty() ? body.rank(1) : kernel.size() + 2;
  if (!rank) body.refuse("the rank of its weight is not known");
  const auto attributes = body.given({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  const Body::Name x = channels_to_front(body, body.input(0), *rank);
  Body::Name y = channels_to_back(body, body.make("Conv", {x, body.input(1), body.input(2)}, attributes), *rank);
  if (body.has(3)) y = body.make("Add", {y, body.input(3)});
  body.give(0, after_convolution(body, y));
}

void fused_gemm(Body& body) {
  const auto attributes = body.given({"alpha", "beta", "transA", "transB"});
  body.give(0, after_gemm(body, body.make("Gemm", {body.input(0), body.input(1), body.input(2)}, attributes)));
}

// Products of transposed operands, as one Einsum.
namespace {

/// The dims of an operand as letters of an Einsum equation, with `row` and `column` of the matrix that is multiplied. transBatch moves the
/// batch dims between the two.
std::string term(char row, char column, bool transposes, bool moves_batch) {
  const char first = transposes ? column : row, last = transposes ? row : column;
  return moves_batch ? std::string{first} + "..." + last : "..." + std::string{first, last};
}

}  // namespace

void fused_matmul(Body& body) {
  const auto flag = [&](const char* name) { return body.attributes().integer(name, 0) != 0; };
  const bool is_plain = !flag("transA") && !flag("transB") && !flag("transBatchA") && !flag("transBatchB");
  const std::string equation =
      term('i', 'k', flag("transA"), flag("transBatchA")) + "," + term('k', 'j', flag("transB"), flag("transBatchB")) + "->...ij";
  Body::Name product = is_plain ? body.make("MatMul", {body.input(0), body.input(1)})
                                : body.make("Einsum", {body.input(0), body.input(1)}, {{"equation", equation}});
  if (const float alpha = body.attributes().real("alpha", 1); alpha != 1) product = body.make("Mul", {product, body.like(alpha, product)});
  body.give(0, product);
}

// Forms of GELU.
namespace {

Body::Name biased(Body& body) {
  return body.has(1) ? body.make("Add", {body.input(0), body.input(1)}) : body.input(0);
}

}  // namespace

void gelu(Body& body) {
  body.give(0, body.make("Gelu", {body.input(0)}));
}

void bias_gelu(Body& body) {
  body.give(0, body.make("Gelu", {biased(body)}));
}

void fast_gelu(Body& body) {
  body.give(0, body.make("Gelu", {biased(body)}, {{"approximate", std::string("tanh")}}));
}

void quick_gelu(Body& body) {
  body.give(0, body.make("Swish", {body.input(0)}, {{"alpha", body.attributes().real("alpha", 1.702F)}}));
}

// Normalizations of sums.
namespace {

constexpr float kSkipEpsilon = 1e-12F;  ///< default of the attribute in the schema

/// 1 / √(mean(x²) + ε) over the last `count` dims, in f32.
Body::Name inverse_root_mean_square(Body& body, const Body::Name& x, int64_t count, float epsilon) {
  const Body::Name wide = body.cast(x, DataType::float32);
  std::vector<int64_t> axes;
  for (int64_t axis = -count; axis < 0; ++axis) axes.push_back(axis);
  const Body::Name mean = body.make("ReduceMean", {body.make("Mul", {wide, wide}), body.integers(axes)});
  return body.make("Reciprocal", {body.make("Sqrt", {body.make("Add", {mean, body.real(epsilon)})})});
}

/// input + skip + bias, which is an output too.
Body::Name skip_sum(Body& body, std::size_t bias) {
  Body::Name sum = body.make("Add", {body.input(0), body.input(1)});
  if (body.has(bias)) sum = body.make("Add", {sum, body.input(bias)});
  if (body.wants(3)) body.give(3, sum);
  return sum;
}

}  // namespace

void simplified_layer_normalization(Body& body) {
  const auto attributes = body.given({"axis", "epsilon", "stash_type"});
  body.give(0, body.make("RMSNormalization", {body.input(0), body.input(1)}, attributes));
  if (!body.wants(1)) return;
  const int64_t axis = body.attributes().integer("axis", -1);
  if (axis >= 0) body.refuse("inv_std_var with an axis that is counted from the front");
  constexpr int64_t kMostDims = 64;
  if (axis < -kMostDims) body.reject("axis is " + std::to_string(axis));
  body.give(1, inverse_root_mean_square(body, body.input(0), -axis, body.attributes().real("epsilon", 1e-5F)));
}

void skip_layer_normalization(Body& body) {
  const Body::Name sum = skip_sum(body, 4);
  const auto made = body.make("LayerNormalization", {sum, body.input(2), body.input(3)}, 3,
                              {{"axis", int64_t{-1}}, {"epsilon", body.attributes().real("epsilon", kSkipEpsilon)}});
  for (const std::size_t k : {0U, 1U, 2U}) {
    if (body.wants(k)) body.give(k, made[k]);
  }
}

void skip_simplified_layer_normalization(Body& body) {
  const Body::Name sum = skip_sum(body, 3);
  const float epsilon = body.attributes().real("epsilon", kSkipEpsilon);
  body.give(0, body.make("RMSNormalization", {sum, body.input(2)}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}}));
  if (body.wants(1)) body.refuse("output mean: no mean is made");
  if (body.wants(2)) body.give(2, inverse_root_mean_square(body, sum, 1, epsilon));
}

}  // namespace relayout::bodies
