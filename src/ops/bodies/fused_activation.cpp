// Bodies of FusedConv, NhwcConv, NhwcFusedConv and FusedGemm: a product, then the activation that an attribute names, with its parameters
// and the names refused.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ops/bodies/bodies.h"
#include "ops/bodies/quantized.h"
#include "ops/body.h"

namespace relayout::bodies {
namespace {

/// An activation, and the attributes of the standard operator that its parameters set, in order.
struct Activation {
  std::string_view name;
  std::vector<std::string_view> parameters;
};

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

/// onnxruntime/core/providers/cpu/activation/activations.h: each attribute `activation_x` is attribute `x` of the activation and is
/// required.
Body::Name after_gemm(Body& body, const Body::Name& x) {
  static const std::array<Activation, 11> kKnown = {{{"Celu", {"alpha"}},
                                                     {"Elu", {"alpha"}},
                                                     {"HardSigmoid", {"alpha", "beta"}},
                                                     {"LeakyRelu", {"alpha"}},
                                                     {"Relu", {}},
                                                     {"Selu", {"alpha", "gamma"}},
                                                     {"Sigmoid", {}},
                                                     {"Softplus", {}},
                                                     {"Softsign", {}},
                                                     {"Tanh", {}},
                                                     {"ThresholdedRelu", {"alpha"}}}};
  const std::string name = body.attributes().text("activation", "");
  const auto* const known = std::ranges::find(kKnown, name, &Activation::name);
  if (known == kKnown.end()) body.refuse("activation '" + name + "'");
  Body::NamedAttributes attributes;
  for (const std::string_view parameter : known->parameters) {
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

}  // namespace relayout::bodies
