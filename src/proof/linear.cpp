// Reads convolutions and matrix products with a constant weight as one kind of operator, so that one formula covers a fold into any.
// Optimizers write a product followed by a sum as one operator between two changes of dims, and the reverse.
#include "proof/linear.h"

#include "ops/op.h"
#include "proof/side.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

int64_t product(const Dims& dims, std::size_t begin, std::size_t end) {
  int64_t out = 1;
  for (std::size_t i = begin; i < end; ++i) out *= dims[i];
  return out;
}

bool all_are(const std::vector<int64_t>& values, int64_t wanted) {
  return std::ranges::all_of(values, [&](int64_t value) { return value == wanted; });
}

/// The number of elements does not limit the dims next to a zero.
bool has_usable_size(const Dims& dims) {
  constexpr int64_t kMost = int64_t{1} << 20;
  return element_count(dims) > 0 || std::ranges::all_of(dims, [](int64_t dim) { return dim <= kMost; });
}

/// Whether the windows of a SAME padding fit into data of these dims without padding: max(0, (⌈H/s⌉ − 1)·s + (k − 1)·d + 1 − H) is 0.
bool fits_without_padding(const Dims& kernel, const std::optional<Dims>& data, const AttributeReader& attributes) {
  if (!data || data->size() != kernel.size() + 2) return false;
  const auto strides = attributes.integers("strides");
  const auto dilations = attributes.integers("dilations");
  constexpr int64_t kMost = int64_t{1} << 31;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const int64_t size = (*data)[i + 2];
    const int64_t stride = i < strides.size() ? strides[i] : 1;
    const int64_t dilation = i < dilations.size() ? dilations[i] : 1;
    const bool is_sane = size > 0 && size < kMost && stride > 0 && stride < kMost && dilation > 0 && dilation < kMost && kernel[i] < kMost;
    if (!is_sane) return false;
    const int64_t outputs = size / stride + (size % stride != 0 ? 1 : 0);
    if ((outputs - 1) * stride + (kernel[i] - 1) * dilation + 1 > size) return false;
  }
  return true;
}

/// Whether every output element sums all taps: there is no padding for data of this shape.
bool sums_all_taps(const Linear& linear, const AttributeReader& attributes, Shapes& shapes) {
  const Dims kernel(linear.weight.dims.begin() + 2, linear.weight.dims.end());
  const std::string padding = attributes.text("auto_pad", "NOTSET");
  const bool unpadded = all_are(attributes.integers("pads"), 0);
  if (linear.kind == Linear::Kind::conv) {
    if (padding == "VALID" || (padding == "NOTSET" && unpadded)) return true;
    // SAME pads by max(0, (⌈H/s⌉ − 1)·s + kernel − H). This is 0 for every H only if the kernel is a point.
    return padding.starts_with("SAME") && (all_are(kernel, 1) || fits_without_padding(kernel, shapes.of(linear.data), attributes));
  }
  // A transposed convolution reaches its output elements by different taps unless each tap has its own element.
  return all_are(kernel, 1) && all_are(attributes.integers("strides"), 1) && unpadded &&
         all_are(attributes.integers("output_padding"), 0) && !attributes.has("output_shape") && padding == "NOTSET";
}

bool read_convolution(Linear& linear, const AttributeReader& attributes, Shapes& shapes) {
  const Dims& dims = linear.weight.dims;
  linear.groups = attributes.integer("group", 1);
  if (dims.size() < 3 || linear.groups < 1 || dims[0] % linear.groups != 0) return false;
  linear.rows = dims[0];
  linear.columns = dims[1];
  linear.inner = product(dims, 2, dims.size());
  const bool is_transposed = linear.kind == Linear::Kind::conv_transpose;
  linear.outputs = is_transposed ? dims[1] * linear.groups : dims[0];
  linear.inputs = is_transposed ? dims[0] : dims[1] * linear.groups;
  linear.rank = static_cast<int64_t>(dims.size());
  linear.output_axis = linear.input_axis = {1, false};
  linear.takes_shift = sums_all_taps(linear, attributes, shapes);
  return true;
}

bool read_gemm(Linear& linear, const AttributeReader& attributes) {
  const Dims& dims = linear.weight.dims;
  if (dims.size() != 2) return false;
  linear.transposed = attributes.integer("transB", 0) != 0;
  linear.alpha = attributes.real("alpha", 1.0F);
  linear.beta = attributes.real("beta", 1.0F);
  linear.rows = dims[0];
  linear.columns = dims[1];
  linear.outputs = linear.transposed ? dims[0] : dims[1];
  linear.inputs = linear.transposed ? dims[1] : dims[0];
  linear.rank = 2;
  linear.output_axis = {1, false};
  linear.input_axis = {attributes.integer("transA", 0) != 0 ? 0 : 1, false};
  linear.takes_shift = true;
  return true;
}

bool read_matmul(Linear& linear, Shapes& shapes) {
  const Dims& dims = linear.weight.dims;
  const std::size_t rank = dims.size();
  if (rank < 2) return false;
  const bool right = linear.kind == Linear::Kind::matmul_right;
  linear.rows = product(dims, 0, rank - 1);
  linear.columns = dims[rank - 1];
  linear.outputs = right ? dims[rank - 1] : dims[rank - 2];
  linear.inputs = right ? dims[rank - 2] : dims[rank - 1];
  linear.output_axis = linear.input_axis = {right ? 0 : 1, true};
  linear.takes_shift = true;
  const auto data = shapes.of(linear.data);
  if (data) {
    const auto data_rank = static_cast<int64_t>(data->size());
    if (data_rank < 2) return false;  // a vector: the result lacks this axis
    linear.rank = std::max(data_rank, static_cast<int64_t>(rank));
  }
  return data.has_value() || right;
}

}  // namespace

Channels Linear::output_channels(int64_t row) const {
  switch (kind) {
    case Kind::conv:
      return {row, 0};
    case Kind::conv_transpose:
      return {row / (inputs / groups) * columns, 1};
    case Kind::gemm:
      return transposed ? Channels{row, 0} : Channels{0, 1};
    case Kind::matmul_right:
      return {0, 1};
    case Kind::matmul_left:
      return {row % outputs, 0};
  }
  return {};
}

Channels Linear::input_channels(int64_t row) const {
  switch (kind) {
    case Kind::conv:
      return {row / (outputs / groups) * columns, 1};
    case Kind::conv_transpose:
      return {row, 0};
    case Kind::gemm:
      return transposed ? Channels{0, 1} : Channels{row, 0};
    case Kind::matmul_right:
      return {row % inputs, 0};
    case Kind::matmul_left:
      return {0, 1};
  }
  return {};
}

bool is_linear(const Node& node) {
  return has_trait(node, Trait::linear);
}

std::optional<Linear> read_linear(Side& side, Shapes& shapes, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || !is_linear(*node) || node->inputs().size() < 2) return std::nullopt;
  Linear linear;
  linear.node = node;
  linear.output = output;
  linear.weight_input = 1;
  if (node->is("MatMul") && !side.constant(side.operand(output, 1))) linear.weight_input = 0;
  linear.weight_value = side.operand(output, linear.weight_input);
  linear.data = side.operand(output, 1 - linear.weight_input);
  auto weight = side.constant(linear.weight_value);
  if (!weight || !is_real(weight->type) || !linear.data || !has_usable_size(weight->dims)) return std::nullopt;
  linear.weight = std::move(*weight);
  if (!node->is("MatMul")) linear.bias_value = side.operand(output, 2);
  linear.bias = side.constant(linear.bias_value);

  const AttributeReader attributes(*node, output.call);
  bool read = false;
  if (node->is("Conv") || node->is("ConvTranspose")) {
    linear.kind = node->is("Conv") ? Linear::Kind::conv : Linear::Kind::conv_transpose;
    read = read_convolution(linear, attributes, shapes);
  } else if (node->is("Gemm")) {
    linear.kind = Linear::Kind::gemm;
    read = read_gemm(linear, attributes);
  } else {
    linear.kind = linear.weight_input == 1 ? Linear::Kind::matmul_right : Linear::Kind::matmul_left;
    read = read_matmul(linear, shapes);
  }
  if (!read || attributes.is_open()) return std::nullopt;
  return linear;
}

// Matrix products in one form.
namespace {

/// Turns a Gemm into a MatMul of matrices, if it uses no feature that MatMul lacks.
std::optional<Linear> product_of(Linear gemm) {
  const AttributeReader attributes(*gemm.node, gemm.output.call);
  if (attributes.integer("transA", 0) != 0 || attributes.is_open() || gemm.alpha != 1) return std::nullopt;
  // A bias per row is not a bias per channel.
  if (gemm.bias_value && (!gemm.bias || gemm.bias->dims.size() > 2 || (gemm.bias->dims.size() == 2 && gemm.bias->dims[0] != 1))) {
    return std::nullopt;
  }
  if (gemm.transposed) {
    gemm.weight.data = gemm.weight.data.permuted(Dims{1, 0});
    gemm.weight.dims = gemm.weight.data.dims();
    gemm.transposed = false;
    std::swap(gemm.rows, gemm.columns);
  }
  gemm.kind = Linear::Kind::matmul_right;
  gemm.output_axis = gemm.input_axis = {0, true};
  return gemm;
}

}  // namespace

std::optional<Linear> read_product(Side& side, Shapes& shapes, Ref output) {
  auto linear = read_linear(side, shapes, output);
  if (linear && linear->kind == Linear::Kind::gemm) linear = product_of(std::move(*linear));
  if (!linear || linear->kind != Linear::Kind::matmul_right || linear->weight.dims.size() != 2) return std::nullopt;
  return linear;
}

}  // namespace relayout::proof
