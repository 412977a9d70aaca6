// Reads a convolution or a matrix product for folds: its channels, its bias, and whether its weight may change.

#include "passes/folds/linear_operator.h"

#include "base/positions.h"
#include "base/text.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/folds/affine.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

[[noreturn]] void invalid(const std::string& what) {
  fail(ErrorKind::invalid, what);
}

bool all_are(const std::vector<int64_t>& values, int64_t wanted) {
  return std::ranges::all_of(values, [&](int64_t value) { return value == wanted; });
}

std::string label_of(const Node& node, std::size_t input) {
  return quote(node.input(input)->name()) + " of " + node.label();
}

/// The constant that is input `index`; notes the reason when it is not constant.
std::optional<Constant> constant_operand(const Node& node, std::size_t index, std::string_view what, PassContext& context,
                                         Obstacles& obstacles) {
  const Value& value = *node.input(index);
  auto found = context.constants.find(value);
  if (const auto* const reason = std::get_if<Reason>(&found)) {
    obstacles.note(*reason, std::string(what) + " " + quote(value.name()));
    return std::nullopt;
  }
  return std::get<Constant>(std::move(found));
}

/// Whether auto_pad = SAME_* adds nothing. It adds max(0, (⌈H/s⌉ − 1)·s + extent − H) elements: none for every H only when the kernel is a
/// point.
bool same_pads_nothing(const Node& node, const Attributes& attributes, const Dims& kernel, PassContext& context) {
  if (all_are(kernel, 1)) return true;
  const auto data = context.constants.dims(*node.input(0));
  if (!data || data->size() != kernel.size() + 2) return false;
  const auto strides = attributes.integers("strides");
  const auto dilations = attributes.integers("dilations");
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const int64_t size = (*data)[i + 2];
    const int64_t stride = i < strides.size() ? strides[i] : 1;
    const int64_t dilation = i < dilations.size() ? dilations[i] : 1;
    const auto extent = checked_mul(kernel[i] - 1, dilation);
    if (size < 1 || stride < 1 || !extent || *extent < 0) return false;
    if ((size - 1) / stride * stride + *extent + 1 > size) return false;
  }
  return true;
}

/// Whether every output element of a convolution sums all taps.
bool sums_all_taps(const Node& node, const Attributes& attributes, const Dims& weight, PassContext& context) {
  const Dims kernel(weight.begin() + 2, weight.end());
  const std::string padding = attributes.text("auto_pad", "NOTSET");
  const bool is_unpadded = all_are(attributes.integers("pads"), 0);
  if (node.is("Conv")) {
    if (padding == "VALID" || (padding == "NOTSET" && is_unpadded)) return true;
    return padding.starts_with("SAME") && same_pads_nothing(node, attributes, kernel, context);
  }
  // An output element of a transposed convolution is reached by a number and choice of taps that depends on where it is (borders, phases
  // of the stride) unless each element has one tap.
  return all_are(kernel, 1) && all_are(attributes.integers("strides"), 1) && is_unpadded &&
         all_are(attributes.integers("output_padding"), 0) && !attributes.has("output_shape") && padding != "SAME_UPPER" &&
         padding != "SAME_LOWER";
}

void read_convolution(LinearOperator& out, const Attributes& attributes, PassContext& context) {
  LinearWeight& weight = out.weight;
  const Dims& dims = weight.stored.dims;
  if (dims.size() < 3) invalid("weight " + label_of(*out.node, 1) + " has dims " + to_string(dims));
  weight.groups = attributes.integer("group", 1);
  if (weight.groups < 1 || dims[0] % weight.groups != 0)
    invalid(out.node->label() + " has " + std::to_string(weight.groups) + " groups for a weight of dims " + to_string(dims));
  const auto across = checked_mul(dims[1], weight.groups);
  if (!across) invalid(out.node->label() + " has too many groups");
  weight.outputs_in_rows = out.node->is("Conv");
  out.outputs = weight.outputs_in_rows ? dims[0] : *across;
  out.inputs = weight.outputs_in_rows ? *across : dims[0];
  out.rank = out.data_rank = static_cast<int64_t>(dims.size());
  out.output_axis = out.input_axis = {1, false};
  out.takes_shift = sums_all_taps(*out.node, attributes, dims, context);
}

void read_gemm(LinearOperator& out, const Attributes& attributes) {
  LinearWeight& weight = out.weight;
  const Dims& dims = weight.stored.dims;
  if (dims.size() != 2) invalid("weight " + label_of(*out.node, 1) + " has dims " + to_string(dims));
  weight.outputs_in_rows = attributes.integer("transB", 0) != 0;
  out.outputs = dims[weight.outputs_in_rows ? 0 : 1];
  out.inputs = dims[weight.outputs_in_rows ? 1 : 0];
  out.rank = out.data_rank = 2;
  out.output_axis = {1, false};
  out.input_axis = {attributes.integer("transA", 0) != 0 ? 0 : 1, false};
  out.alpha = static_cast<double>(attributes.real("alpha", 1.0F));
  out.beta = static_cast<double>(attributes.real("beta", 1.0F));
}

/// As in numpy.matmul: the output channels are the last dim of a weight on the right, the last but one of a weight on the left.
std::optional<Skip> read_matmul(LinearOperator& out, PassContext& context) {
  LinearWeight& weight = out.weight;
  const Dims& dims = weight.stored.dims;
  const bool is_right = weight.input == 1;
  if (dims.size() < 2) return Skip{Reason::channel_axis_moved, "weight " + label_of(*out.node, weight.input) + " is a vector"};
  const auto data = context.constants.dims(*out.node->input(out.data_input));
  if (!is_right && !data) return Skip{Reason::rank_unknown, quote(out.node->input(out.data_input)->name())};
  if (!is_right && data->size() < 2)
    return Skip{Reason::channel_axis_moved, quote(out.node->input(out.data_input)->name()) + " is a vector"};
  weight.row_axis = dims.size() - 2;
  weight.column_axis = dims.size() - 1;
  weight.outputs_in_rows = !is_right;
  out.outputs = dims[is_right ? weight.column_axis : weight.row_axis];
  out.inputs = dims[is_right ? weight.row_axis : weight.column_axis];
  out.output_axis = out.input_axis = {is_right ? 0 : 1, true};
  if (data) {
    out.data_rank = static_cast<int64_t>(data->size());
    out.rank = data->size() < 2 ? static_cast<int64_t>(dims.size()) - 1 : std::max(out.data_rank, static_cast<int64_t>(dims.size()));
  }
  return std::nullopt;
}

/// The Add that is the only reader of a MatMul's result, and may be its bias.
const Node* bias_add(const Node& matmul, PassContext& context) {
  const Value* const result = matmul.output(0);
  if (result == nullptr || result->sole_use() == nullptr) return nullptr;
  const Node& add = *result->sole_use()->node;
  const bool is_add = add.is("Add") && &add.graph() == &matmul.graph() && add.output(0) != nullptr;
  return is_add && !is_excluded(add, context.options) ? &add : nullptr;
}

void find_matmul_bias(LinearOperator& out, PassContext& context) {
  out.bias.is_missing = true;
  const Node* const add = bias_add(*out.node, context);
  if (add == nullptr) return;
  const auto& read = read_affine(*add, context);
  const auto* const affine = std::get_if<AffineNode>(&read);
  if (affine == nullptr) return;
  const bool fits = !affine->axis || (is_same(*affine->axis, out.output_axis, out.rank) && affine->affine->length() == out.outputs);
  if (!fits || affine->affine->length() == 0) return;
  out.bias.stored = std::get<Constant>(context.constants.find(*add->input(1 - affine->data)));
  // Before opset 7 the operand states its axes and cannot grow.
  if (add->opset() < 7 && element_count(out.bias.stored->dims) != out.outputs) {
    out.bias.stored.reset();
    return;
  }
  out.bias.node = add;
  out.bias.input = 1 - affine->data;
  out.bias.is_missing = false;
}

void check_bias(const LinearOperator& out) {
  if (!out.bias.stored) return;
  const Dims& dims = out.bias.stored->dims;
  bool fits = is_scalable(out.bias.stored->type);
  if (out.node->is("Gemm")) {
    fits = fits && dims.size() <= 2 && (dims.empty() || dims.back() == 1 || dims.back() == out.outputs);
  } else if (!out.node->is("MatMul")) {
    fits = fits && dims == Dims{out.outputs};
  }
  if (fits) return;
  invalid("bias " + label_of(*out.bias.node, out.bias.input) + " has dims " + to_string(dims) + " for " + std::to_string(out.outputs) +
          " channels");
}

/// Loads the bias spread over [bias.rows, outputs]. Numbers that an earlier fold has computed are more exact than the stored ones.
void load_bias(LinearOperator& out, PassContext& context) {
  if (out.node->is("Gemm") && out.bias.stored && out.bias.stored->dims.size() == 2) out.bias.rows = out.bias.stored->dims[0];
  const auto count = checked_mul(out.bias.rows, out.outputs);
  if (!count) invalid(out.node->label() + " has a bias that is too large");
  const auto exact = context.folds.exact_biases.find(out.node);
  if (out.bias.stored && exact != context.folds.exact_biases.end() && exact->second.value == out.bias.node->input(out.bias.input)) {
    out.bias.values = exact->second.values;
    return;
  }
  out.bias.values.assign(as_size(*count), 0.0);
  if (!out.bias.stored || out.beta == 0 || *count == 0) return;
  const std::vector<double> stored = reals_of(out.bias.stored->load());
  const Dims& dims = out.bias.stored->dims;
  const std::size_t columns = out.node->is("Gemm") ? (dims.empty() ? 1 : as_size(dims.back())) : stored.size();
  for (std::size_t i = 0; i < out.bias.values.size(); ++i) {
    const std::size_t row = i / as_size(out.outputs);
    out.bias.values[i] = out.beta * stored[row * columns + (columns == 1 ? 0 : i % as_size(out.outputs))];
  }
}

}  // namespace

Scale LinearWeight::over(bool along_rows, std::span<const double> factors) const {
  Scale out{1, 1, {factors.begin(), factors.end()}, row_axis, column_axis};
  if (factors.size() == 1) return out;
  if (along_rows) {
    out.rows = rows();
  } else {
    out.columns = columns();
  }
  if (along_rows || groups == 1) return out;
  out.rows = rows();
  out.factors.clear();
  out.factors.reserve(as_size(out.rows * out.columns));
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.columns; ++j) out.factors.push_back(factors[as_size(across(i, j))]);
  }
  return out;
}

Scale LinearWeight::over_outputs(std::span<const double> factors) const {
  return over(outputs_in_rows, factors);
}

Scale LinearWeight::over_inputs(std::span<const double> factors) const {
  return over(!outputs_in_rows, factors);
}

Dims LinearOperator::bias_dims() const {
  if (node->is("MatMul")) {
    if (bias.stored && std::ranges::count(bias.stored->dims, outputs) == 1 && element_count(bias.stored->dims) == outputs)
      return bias.stored->dims;
    return weight.outputs_in_rows && node->opset() >= 7 ? Dims{outputs, 1} : Dims{outputs};
  }
  return bias.stored && bias.stored->dims.size() == 2 ? Dims{bias.rows, outputs} : Dims{outputs};
}

bool is_linear(const Node& node) {
  return has_trait(node, Trait::linear);
}

std::variant<LinearOperator, Skip> linear_operator(const Node& node, PassContext& context) {
  Obstacles obstacles;
  const Attributes attributes(node);
  if (attributes.has_reference())
    return Skip{Reason::not_constant, "an attribute of " + node.label() + " is given by the caller of the function"};
  if (node.input(0) == nullptr || node.input(1) == nullptr) invalid(node.label() + " has no weight");
  LinearOperator out;
  out.node = &node;
  if (node.is("MatMul") && !context.constants.is_constant(*node.input(1))) {
    if (context.constants.is_constant(*node.input(0))) std::swap(out.weight.input, out.data_input);
  } else if (!node.is("MatMul")) {
    out.bias.node = &node;
  }
  auto weight = constant_operand(node, out.weight.input, "weight", context, obstacles);
  if (!node.is("MatMul") && node.input(2) != nullptr) out.bias.stored = constant_operand(node, 2, "bias", context, obstacles);
  if (weight && !is_scalable(weight->type))
    obstacles.note(Reason::quantized,
                   "weight " + quote(node.input(out.weight.input)->name()) + " is of type " + std::string(name_of(weight->type)));
  if (obstacles.any()) return obstacles.first();
  out.weight.stored = std::move(*weight);
  if (node.is("Gemm")) {
    read_gemm(out, attributes);
  } else if (node.is("MatMul")) {
    if (auto skip = read_matmul(out, context)) return std::move(*skip);
    find_matmul_bias(out, context);
  } else {
    read_convolution(out, attributes, context);
  }
  check_bias(out);
  load_bias(out, context);
  return out;
}

const Node* biased_matmul(const Node& add, PassContext& context) {
  if (!add.is("Add")) return nullptr;
  for (const Value* input : add.inputs()) {
    const Node* const matmul = input != nullptr ? input->producer() : nullptr;
    if (matmul == nullptr || !matmul->is("MatMul") || bias_add(*matmul, context) != &add) continue;
    const auto target = linear_operator(*matmul, context);
    const auto* const found = std::get_if<LinearOperator>(&target);
    if (found != nullptr && found->bias.node == &add) return matmul;
  }
  return nullptr;
}

}  // namespace relayout::passes
