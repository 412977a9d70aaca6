// Bodies of SimplifiedLayerNormalization, SkipLayerNormalization and SkipSimplifiedLayerNormalization: sum of input, skip and bias, default
// epsilon, outputs refused.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "relayout/types.h"

namespace relayout::bodies {
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
