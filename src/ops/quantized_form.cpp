// Names the operator on real numbers that each quantized operator represents, with its scales and zero points.
// Places of inputs are those of ONNX's specification and of ONNX Runtime's list of contributed operators (version 1.31).
#include "ops/quantized_form.h"

#include "model/node.h"
#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

using enum QuantizedForm::Packing;
constexpr std::size_t kNoInput = QuantizedForm::kNoInput;

/// One line per operator, sorted by name.
constexpr auto kForms = std::to_array<QuantizedForm>({
    {.op = "ConvInteger", .real = "Conv", .all = {{{0, kNoInput, 2}, {1, kNoInput, 3}}}, .first_weight = 1},
    {.op = "DynamicQuantizeLSTM", .real = "LSTM", .all = {{{1, 8, 9}, {2, 10, 11}}}, .is_dynamic = true},
    {.op = "DynamicQuantizeMatMul", .real = "MatMul", .all = {{{1, 2, 3}}}, .is_dynamic = true},
    {.op = "GatherBlockQuantized", .real = "Gather", .all = {{{0, 2, 3}}}, .packing = blocks},
    {.op = "MatMulBnb4", .real = "MatMul", .all = {{{1, 2}}}, .packing = codes},
    {.op = "MatMulInteger", .real = "MatMul", .all = {{{0, kNoInput, 2}, {1, kNoInput, 3}}}, .first_weight = 1},
    {.op = "MatMulIntegerToFloat", .real = "MatMul", .all = {{{0, 2, 4}, {1, 3, 5}}}, .first_weight = 1},
    {.op = "MatMulNBits", .real = "MatMul", .all = {{{1, 2, 3}}}, .packing = blocks},
    {.op = "QAttention", .all = {{{0, 3, 6}, {1, 4, 7}}}, .first_weight = 1},
    {.op = "QGemm", .real = "Gemm", .all = {{{0, 1, 2}, {3, 4, 5}}}, .result = 7, .bias = 6},
    {.op = "QLinearAdd", .real = "Add", .all = {{{0, 1, 2}, {3, 4, 5}}}, .result = 6},
    {.op = "QLinearAveragePool", .real = "AveragePool", .all = {{{0, 1, 2}}}, .result = 3},
    {.op = "QLinearConcat", .real = "Concat", .all = {{{2, 3, 4}}}, .result = 0, .is_variadic = true},
    {.op = "QLinearConv", .real = "Conv", .all = {{{0, 1, 2}, {3, 4, 5}}}, .result = 6, .bias = 8},
    {.op = "QLinearGlobalAveragePool", .real = "GlobalAveragePool", .all = {{{0, 1, 2}}}, .result = 3},
    {.op = "QLinearLeakyRelu", .real = "LeakyRelu", .all = {{{0, 1, 2}}}, .result = 3},
    {.op = "QLinearMatMul", .real = "MatMul", .all = {{{0, 1, 2}, {3, 4, 5}}}, .result = 6},
    {.op = "QLinearMul", .real = "Mul", .all = {{{0, 1, 2}, {3, 4, 5}}}, .result = 6},
    {.op = "QLinearReduceMean", .real = "ReduceMean", .all = {{{0, 1, 2}}}, .result = 3},
    {.op = "QLinearSigmoid", .real = "Sigmoid", .all = {{{0, 1, 2}}}, .result = 3},
    {.op = "QLinearSoftmax", .real = "Softmax", .all = {{{0, 1, 2}}}, .result = 3},
    {.op = "QLinearWhere", .real = "Where", .all = {{{1, 2, 3}, {4, 5, 6}}}, .result = 7, .plain = 0},
});
static_assert(std::ranges::is_sorted(kForms, {}, &QuantizedForm::op));

}  // namespace

std::vector<QuantizedForm::Operand> QuantizedForm::operands(const Node& node) const {
  std::vector<Operand> out;
  for (const Operand& operand : all) {
    if (operand.numbers != kNoInput) out.push_back(operand);
  }
  constexpr std::size_t kPeriod = 3;  // numbers, scale, zero point
  while (is_variadic && out.back().numbers + kPeriod < node.inputs().size()) {
    const Operand last = out.back();
    out.push_back({last.numbers + kPeriod, last.scale + kPeriod, last.zero + kPeriod});
  }
  return out;
}

std::vector<QuantizedForm::Operand> QuantizedForm::weights(const Node& node) const {
  std::vector<Operand> out = operands(node);
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first_weight));
  return out;
}

int64_t QuantizedForm::channel_axis(const Node& node) const {
  const Op* const real_op = find_op(real);
  if (real_op != nullptr && real_op->traits.convolution_weight()) return 0;
  return real == "Gemm" && Attributes(node).integer("transB", 0) != 0 ? 0 : -1;
}

const QuantizedForm* quantized_form(const Node& node) {
  const auto* const found = std::ranges::lower_bound(kForms, std::string_view(node.op_type()), {}, &QuantizedForm::op);
  return found != kForms.end() && found->op == node.op_type() && find_op(node) != nullptr ? found : nullptr;
}

std::span<const QuantizedForm> quantized_forms() {
  return kForms;
}

}  // namespace relayout
