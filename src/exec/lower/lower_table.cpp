// Which operators are lowered to something better than their own kernel: one line each.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"

namespace relayout {
namespace {

/// Operators with something better than their own kernel of the op table, by name.
constexpr LoweringEntry kEntries[] = {
    {"Abs", lower_elementwise},
    {"Acos", lower_elementwise},
    {"Acosh", lower_elementwise},
    {"Add", lower_elementwise},
    {"Asin", lower_elementwise},
    {"Asinh", lower_elementwise},
    {"Atan", lower_elementwise},
    {"Atanh", lower_elementwise},
    {"Attention", lower_attention},
    {"AveragePool", lower_pool},
    {"BatchNormalization", lower_elementwise},
    {"Ceil", lower_elementwise},
    {"Celu", lower_elementwise},
    {"Clip", lower_elementwise},
    {"Concat", lower_concat},
    {"Conv", lower_convolution},
    {"ConvInteger", lower_integer_convolution},
    {"ConvTranspose", lower_convolution},
    {"Cos", lower_elementwise},
    {"Cosh", lower_elementwise},
    {"DepthToSpace", lower_blocks},
    {"Div", lower_elementwise},
    {"Einsum", lower_einsum},
    {"Elu", lower_elementwise},
    {"Erf", lower_elementwise},
    {"Exp", lower_elementwise},
    {"Flatten", lower_reshape},
    {"Floor", lower_elementwise},
    {"GRU", lower_recurrent, true},
    {"Gelu", lower_elementwise},
    {"Gemm", lower_gemm},
    {"GlobalAveragePool", lower_spatial},
    {"GlobalMaxPool", lower_spatial},
    {"HardSigmoid", lower_elementwise},
    {"HardSwish", lower_elementwise},
    {"LSTM", lower_recurrent, true},
    {"LayerNormalization", lower_layer_normalization},
    {"LeakyRelu", lower_elementwise},
    {"Log", lower_elementwise},
    {"LogSoftmax", lower_log_softmax},
    {"MatMul", lower_matmul},
    {"MatMulInteger", lower_integer_matmul},
    {"Max", lower_elementwise},
    {"MaxPool", lower_pool},
    {"Min", lower_elementwise},
    {"Mish", lower_elementwise},
    {"Mul", lower_elementwise},
    {"Neg", lower_elementwise},
    {"Pow", lower_elementwise},
    {"QLinearConv", lower_integer_convolution},
    {"QLinearMatMul", lower_integer_matmul},
    {"RNN", lower_recurrent, true},
    {"Reciprocal", lower_elementwise},
    {"ReduceMax", lower_reduce},
    {"ReduceMean", lower_reduce},
    {"Relu", lower_elementwise},
    {"Reshape", lower_reshape},
    {"Round", lower_elementwise},
    {"Selu", lower_elementwise},
    {"SequenceAt", lower_sequence_at},
    {"SequenceConstruct", lower_sequence_construct},
    {"Sigmoid", lower_elementwise},
    {"Sin", lower_elementwise},
    {"Sinh", lower_elementwise},
    {"Softmax", lower_softmax},
    {"Softplus", lower_elementwise},
    {"Softsign", lower_elementwise},
    {"SpaceToDepth", lower_blocks},
    {"SplitToSequence", lower_split_to_sequence},
    {"Sqrt", lower_elementwise},
    {"Squeeze", lower_reshape},
    {"Sub", lower_elementwise},
    {"Sum", lower_elementwise},
    {"Swish", lower_elementwise},
    {"Tan", lower_elementwise},
    {"Tanh", lower_elementwise},
    {"ThresholdedRelu", lower_elementwise},
    {"Tile", lower_tile},
    {"Transpose", lower_transpose},
    {"Unsqueeze", lower_reshape},
};
static_assert(std::ranges::is_sorted(kEntries, {}, &LoweringEntry::op_type));

}  // namespace

const LoweringEntry* find_lowering(std::string_view op_type) {
  const auto* const entry = std::ranges::lower_bound(kEntries, op_type, {}, &LoweringEntry::op_type);
  return entry != std::end(kEntries) && entry->op_type == op_type ? entry : nullptr;
}

}  // namespace relayout
