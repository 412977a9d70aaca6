// Lists the operators that have something faster than the op table's kernel, each with its function.

#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"

namespace relayout::exec {
namespace {

/// Operators with something better than their kernel of the op table, by name, except those that stages.cpp reads.
constexpr LoweringEntry kEntries[] = {
    {"Attention", lower_attention},
    {"AveragePool", lower_pool},
    {"Concat", lower_concat},
    {"Conv", lower_convolution},
    {"ConvInteger", lower_integer_convolution},
    {"ConvTranspose", lower_convolution},
    {"DepthToSpace", lower_blocks},
    {"Einsum", lower_einsum},
    {"Flatten", lower_reshape},
    {"GRU", lower_recurrent, true},
    {"GatherElements", lower_indexed},
    {"Gemm", lower_gemm},
    {"GlobalAveragePool", lower_spatial},
    {"GlobalMaxPool", lower_spatial},
    {"GroupNormalization", lower_group_normalization},
    {"InstanceNormalization", lower_instance_normalization},
    {"LSTM", lower_recurrent, true},
    {"LayerNormalization", lower_layer_normalization},
    {"LogSoftmax", lower_log_softmax},
    {"MatMul", lower_matmul},
    {"MatMulInteger", lower_integer_matmul},
    {"MaxPool", lower_pool},
    {"QLinearConv", lower_integer_convolution},
    {"QLinearMatMul", lower_integer_matmul},
    {"QuantizedStateLSTM", lower_recurrent},
    {"RNN", lower_recurrent, true},
    {"ReduceMax", lower_reduce},
    {"ReduceMean", lower_reduce},
    {"ReduceSum", lower_reduce},
    {"Reshape", lower_reshape},
    {"Resize", lower_resize},
    {"ScatterElements", lower_indexed},
    {"SequenceAt", lower_sequence_at},
    {"SequenceConstruct", lower_sequence_construct},
    {"Softmax", lower_softmax},
    {"SpaceToDepth", lower_blocks},
    {"SplitToSequence", lower_split_to_sequence},
    {"Squeeze", lower_reshape},
    {"Tile", lower_tile},
    {"Transpose", lower_transpose},
    {"Unsqueeze", lower_reshape},
    {"Upsample", lower_resize},
};
static_assert(std::ranges::is_sorted(kEntries, {}, &LoweringEntry::op_type));

}  // namespace

const LoweringEntry* find_lowering(std::string_view op_type) {
  const auto* const entry = std::ranges::lower_bound(kEntries, op_type, {}, &LoweringEntry::op_type);
  if (entry != std::end(kEntries) && entry->op_type == op_type) return entry;
  static constexpr LoweringEntry kElementwise{{}, lower_elementwise};
  return may_be_stages(op_type) ? &kElementwise : nullptr;
}

}  // namespace relayout::exec
