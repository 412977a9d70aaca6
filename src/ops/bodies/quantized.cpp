// Writes bodies of quantized operators: inputs are dequantized, computed in f32, and quantized again.

#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "ops/formulas.h"
#include "relayout/types.h"

namespace relayout::bodies {

Body::Name dequantized(Body& body, std::size_t value) {
  return body.make("DequantizeLinear", {body.input(value), body.input(value + 1), body.input(value + 2)});
}

Body::Name quantized(Body& body, const Body::Name& real, std::size_t scale, std::size_t like) {
  const Body::Name zero = body.has(scale + 1) ? body.input(scale + 1) : body.like(0, body.input(like));
  return body.make("QuantizeLinear", {real, body.input(scale), zero});
}

Body::Name channels_to_front(Body& body, const Body::Name& value, std::size_t rank) {
  std::vector<int64_t> order = {0, static_cast<int64_t>(rank) - 1};
  for (int64_t i = 1; i + 1 < static_cast<int64_t>(rank); ++i) order.push_back(i);
  return body.make("Transpose", {value}, {{"perm", order}});
}

Body::Name channels_to_back(Body& body, const Body::Name& value, std::size_t rank) {
  std::vector<int64_t> order = {0};
  for (int64_t i = 2; i < static_cast<int64_t>(rank); ++i) order.push_back(i);
  order.push_back(1);
  return body.make("Transpose", {value}, {{"perm", order}});
}

namespace {

/// Inputs: a, its scale and zero point, the same of b, scale and zero point of the result.
void binary(Body& body, std::string_view op) {
  body.give(0, quantized(body, body.make(op, {dequantized(body, 0), dequantized(body, 3)}), 6, 0));
}

void unary(Body& body, std::string_view op, const Body::NamedAttributes& attributes) {
  body.give(0, quantized(body, body.make(op, {dequantized(body, 0)}, attributes), 3, 0));
}

/// A scale of one element as a scalar, which broadcasts without adding a dim.
Body::Name scalar(Body& body, std::size_t input) {
  return body.make("Squeeze", {body.input(input)});
}

bool is_channels_last(const Body& body) {
  return body.attributes().integer("channels_last", 0) != 0;
}

/// Sums of products of 8-bit numbers, times a factor, for rounding half to even and saturation (MLAS_QGEMM_REQUANT_OUTPUT_PROCESSOR of
/// onnxruntime/core/mlas/inc/mlas.h).
Body::Name scaled(Body& body, const Body::Name& sums, const Body::Name& factor) {
  return body.make("Mul", {body.cast(sums, DataType::float32), factor});
}

/// Rank of the images of a convolution or a pool: two more than its kernel has.
std::size_t image_rank(const Body& body, std::size_t weight) {
  if (const auto kernel = body.attributes().integers("kernel_shape"); !kernel.empty()) return kernel.size() + 2;
  if (const auto rank = body.rank(weight)) return *rank;
  body.refuse("the rank of its weight is not known");
}

}  // namespace

void qlinear_add(Body& body) {
  binary(body, "Add");
}

void qlinear_mul(Body& body) {
  binary(body, "Mul");
}

void qlinear_sigmoid(Body& body) {
  unary(body, "Sigmoid", {});
}

void qlinear_leaky_relu(Body& body) {
  unary(body, "LeakyRelu", {{"alpha", body.attributes().real("alpha", elementwise::default_parameters("LeakyRelu").alpha)}});
}

void qlinear_reduce_mean(Body& body) {
  const Body::Name axes = body.integers(body.attributes().integers("axes"));
  const Body::Name mean = body.make("ReduceMean", {dequantized(body, 0), axes}, {{"keepdims", body.attributes().integer("keepdims", 1)}});
  body.give(0, quantized(body, mean, 3, 0));
}

void qlinear_where(Body& body) {
  const Body::Name chosen = body.make("Where", {body.input(0), dequantized(body, 1), dequantized(body, 4)});
  body.give(0, quantized(body, chosen, 7, 1));
}

void qlinear_concat(Body& body) {
  Body::Names parts;
  for (std::size_t i = 2; body.has(i); i += 3) parts.push_back(dequantized(body, i));
  const auto axis = body.attributes().integer("axis");
  if (!axis) body.reject("no axis");
  if (parts.empty()) body.reject("nothing to concatenate");
  body.give(0, quantized(body, body.make("Concat", parts, {{"axis", *axis}}), 0, 2));
}

void qlinear_average_pool(Body& body) {
  const auto attributes = body.given({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"});
  // ONNX Runtime divides a window that exceeds the padding by its full size; AveragePool divides by the part inside from opset 19 on.
  if (body.attributes().integer("ceil_mode", 0) != 0 && body.attributes().integer("count_include_pad", 0) != 0) {
    body.refuse("ceil_mode with count_include_pad");
  }
  const std::size_t rank = body.attributes().integers("kernel_shape").size() + 2;
  Body::Name x = dequantized(body, 0);
  if (is_channels_last(body)) x = channels_to_front(body, x, rank);
  x = body.make("AveragePool", {x}, attributes);
  if (is_channels_last(body)) x = channels_to_back(body, x, rank);
  body.give(0, quantized(body, x, 3, 0));
}

void qlinear_global_average_pool(Body& body) {
  const Body::Name x = dequantized(body, 0);
  const Body::Name rank = body.make("Size", {body.make("Shape", {body.input(0)})});
  const bool is_last = is_channels_last(body);
  const Body::Name end = is_last ? body.make("Sub", {rank, body.integer(1)}) : rank;
  const Body::Name axes = body.make("Range", {body.integer(is_last ? 1 : 2), end, body.integer(1)});
  body.give(0, quantized(body, body.make("ReduceMean", {x, axes}), 3, 0));
}

/// Before opset 13, by attribute `opset`, Softmax sees a matrix. The result is multiplied by ⌊1 / scale⌋
/// (onnxruntime/contrib_ops/cpu/quantization/qlinear_softmax.cc).
void qlinear_softmax(Body& body) {
  const int64_t axis = body.attributes().integer("axis", -1);
  Body::Name x = dequantized(body, 0);
  if (body.attributes().integer("opset", 0) >= 13) {
    x = body.make("Softmax", {x}, {{"axis", axis}});
  } else {
    x = body.make("Softmax", {body.make("Flatten", {x}, {{"axis", axis}})}, {{"axis", int64_t{-1}}});
    x = body.make("Reshape", {x, body.make("Shape", {body.input(0)})}, {{"allowzero", int64_t{1}}});
  }
  const Body::Name levels = body.make("Floor", {body.make("Reciprocal", {body.input(3)})});
  const Body::Name zero = body.has(4) ? body.input(4) : body.like(0, body.input(0));
  body.give(0, body.make("QuantizeLinear", {body.make("Mul", {x, levels}), body.real(1), zero}));
}

/// C has the scale of the products; the factor is computed in f32, from left to right.
void qgemm(Body& body) {
  const auto matrix = [&](std::size_t input, const char* transposes) {
    if (body.attributes().integer(transposes, 0) == 0) return body.input(input);
    return body.make("Transpose", {body.input(input)}, {{"perm", std::vector<int64_t>{1, 0}}});
  };
  Body::Name sums = body.make("MatMulInteger", {matrix(0, "transA"), matrix(3, "transB"), body.input(2), body.input(5)});
  if (body.has(6)) sums = body.make("Add", {sums, body.input(6)});
  Body::Name factor = body.make("Mul", {body.real(body.attributes().real("alpha", 1)), body.input(1)});
  factor = body.make("Mul", {factor, body.input(4)});
  if (!body.has(7)) return body.give(0, scaled(body, sums, factor));
  factor = body.make("Div", {factor, body.input(7)});
  if (!body.has(8)) body.refuse("y_scale without y_zero_point");
  body.give(0, body.make("QuantizeLinear", {scaled(body, sums, factor), body.real(1), body.input(8)}));
}

void dynamic_quantize_matmul(Body& body) {
  const auto parts = body.make("DynamicQuantizeLinear", {body.input(0)}, 3);
  const Body::Name sums = body.make("MatMulInteger", {parts[0], body.input(1), parts[2], body.input(3)});
  const Body::Name product = scaled(body, sums, body.make("Mul", {parts[1], scalar(body, 2)}));
  body.give(0, body.has(4) ? body.make("Add", {product, body.input(4)}) : product);
}

void matmul_integer_to_float(Body& body) {
  const Body::Name sums = body.make("MatMulInteger", {body.input(0), body.input(1), body.input(4), body.input(5)});
  // In f32: the sums exceed the range of f16.
  const auto wide = [&](std::size_t input) { return body.cast(scalar(body, input), DataType::float32); };
  Body::Name product = body.cast_like(scaled(body, sums, body.make("Mul", {wide(2), wide(3)})), body.input(2));
  if (body.has(6)) product = body.make("Add", {product, body.input(6)});
  body.give(0, product);
}

/// Weights are [directions, inputs, gates · hidden]. The input is quantized as a whole, the state at each step
/// (onnxruntime/contrib_ops/cpu/quantization/dynamic_quantize_lstm.cc, with one thread: more may quantize parts of the batch).
void dynamic_quantize_lstm(Body& body) {
  constexpr std::size_t kWeight = 1, kRecurrence = 2, kLengths = 4, kWeightScale = 8, kRecurrenceScale = 10;
  // Values past the end of a sequence would affect the ranges.
  if (body.has(kLengths)) body.refuse("input sequence_lens");
  const int64_t directions = body.attributes().text("direction", "forward") == "bidirectional" ? 2 : 1;
  const auto per_direction = [&](std::size_t input) {
    const Body::Name wide = body.cast(body.input(input), DataType::float32);
    return body.make("Reshape", {wide, body.integers({directions, 1, -1})});
  };
  const auto weight = [&](std::size_t codes, std::size_t scale) {
    Body::Name real = body.cast(body.input(codes), DataType::float32);
    if (body.has(scale + 1)) real = body.make("Sub", {real, per_direction(scale + 1)});
    real = body.make("Mul", {real, per_direction(scale)});
    return body.make("Transpose", {real}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  };
  const auto parts = body.make("DynamicQuantizeLinear", {body.input(0)}, 3);
  const Body::Name x = body.make("DequantizeLinear", {parts[0], parts[1], parts[2]});
  const Body::Names inputs = {x,
                              weight(kWeight, kWeightScale),
                              weight(kRecurrence, kRecurrenceScale),
                              body.input(3),
                              {},
                              body.input(5),
                              body.input(6),
                              body.input(7),
                              per_direction(kRecurrenceScale)};
  const auto attributes =
      body.given({"activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size", "input_forget"});
  const Body::Names made = body.make_own("QuantizedStateLSTM", inputs, 3, attributes);
  for (std::size_t k = 0; k < made.size(); ++k) {
    if (body.wants(k)) body.give(k, made[k]);
  }
}

void qlinear_conv(Body& body) {
  const std::size_t rank = is_channels_last(body) ? image_rank(body, 3) : 0;
  Body::Names inputs;
  for (std::size_t i = 0; i < 9; ++i) inputs.push_back(body.input(i));
  if (rank > 0) inputs[0] = channels_to_front(body, inputs[0], rank);
  const Body::Name made =
      body.make("QLinearConv", inputs, body.given({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  body.give(0, rank > 0 ? channels_to_back(body, made, rank) : made);
}

void nhwc_max_pool(Body& body) {
  const std::size_t rank = body.attributes().integers("kernel_shape").size() + 2;
  const auto attributes = body.given({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"});
  body.give(0, channels_to_back(body, body.make("MaxPool", {channels_to_front(body, body.input(0), rank)}, attributes), rank));
}

void quantize_linear(Body& body) {
  body.give(0, body.make("QuantizeLinear", {body.input(0), body.input(1), body.input(2)}, body.given({"axis"})));
}

void dequantize_linear(Body& body) {
  body.give(0, body.make("DequantizeLinear", {body.input(0), body.input(1), body.input(2)}, body.given({"axis"})));
}

}  // namespace relayout::bodies
