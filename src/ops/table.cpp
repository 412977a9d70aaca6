#include <algorithm>
#include <array>

#include "ops/kernels.h"
#include "ops/op.h"

namespace relayout {
namespace {

using enum LayoutRule;
using namespace kernels;

/// Newest opset of the default domain at the time of review (ONNX 1.23).
constexpr int kNewest = 28;

/// One line per operator, sorted by name. Names of kernels that C's math library has as well are qualified.
constexpr auto kTable = std::to_array<Op>({
    {.name = "Abs", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_numeric_unary, .compute = kernels::abs, .in_place = true},
    {.name = "Acos", .since = 7, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::acos, .in_place = true},
    {.name = "Acosh", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::acosh, .in_place = true},
    {.name = "Add", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_arithmetic, .compute = add, .in_place = true},
    {.name = "And", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_logical, .compute = logical_and, .in_place = true},
    {.name = "Asin", .since = 7, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::asin, .in_place = true},
    {.name = "Asinh", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::asinh, .in_place = true},
    {.name = "Atan", .since = 7, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::atan, .in_place = true},
    {.name = "Atanh", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::atanh, .in_place = true},
    {.name = "AveragePool", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_pool, .compute = average_pool},
    {.name = "BatchNormalization", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_batch_normalization, .compute = batch_normalization},
    {.name = "BitCast", .since = 26, .reviewed = kNewest, .layout = agnostic, .infer = infer_bit_cast, .compute = bit_cast},
    {.name = "BitShift", .since = 11, .reviewed = kNewest, .layout = agnostic, .infer = infer_bitwise, .compute = bit_shift, .in_place = true},
    {.name = "BitwiseAnd", .since = 18, .reviewed = kNewest, .layout = agnostic, .infer = infer_bitwise, .compute = bitwise_and, .in_place = true},
    {.name = "BitwiseNot", .since = 18, .reviewed = kNewest, .layout = agnostic, .infer = infer_integer_unary, .compute = bitwise_not, .in_place = true},
    {.name = "BitwiseOr", .since = 18, .reviewed = kNewest, .layout = agnostic, .infer = infer_bitwise, .compute = bitwise_or, .in_place = true},
    {.name = "BitwiseXor", .since = 18, .reviewed = kNewest, .layout = agnostic, .infer = infer_bitwise, .compute = bitwise_xor, .in_place = true},
    {.name = "Cast", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_cast, .compute = cast},
    {.name = "CastLike", .since = 15, .reviewed = kNewest, .layout = agnostic, .infer = infer_cast_like, .compute = cast_like},
    {.name = "Ceil", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::ceil, .in_place = true},
    {.name = "Celu", .since = 12, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = celu, .in_place = true},
    {.name = "Clip", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_clip, .compute = clip, .in_place = true},
    {.name = "Concat", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_concat, .compute = concat},
    {.name = "ConcatFromSequence", .since = 11, .reviewed = kNewest, .layout = barrier, .infer = infer_concat_from_sequence, .compute = concat_from_sequence},
    {.name = "Constant", .since = 1, .reviewed = kNewest, .layout = shape_only, .infer = infer_constant, .compute = constant},
    {.name = "ConstantOfShape", .since = 9, .reviewed = kNewest, .layout = shape_only, .infer = infer_constant_of_shape, .compute = constant_of_shape},
    {.name = "Conv", .since = 1, .reviewed = kNewest, .layout = wants, .infer = infer_conv, .compute = conv},
    {.name = "ConvTranspose", .since = 1, .reviewed = kNewest, .layout = wants, .infer = infer_conv_transpose, .compute = conv_transpose},
    {.name = "Cos", .since = 7, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::cos, .in_place = true},
    {.name = "Cosh", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::cosh, .in_place = true},
    {.name = "Div", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_arithmetic, .compute = divide, .in_place = true},
    {.name = "Dropout", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_dropout, .compute = dropout, .view = view_dropout},
    {.name = "Elu", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = elu, .in_place = true},
    {.name = "Equal", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_equal, .compute = equal},
    {.name = "Erf", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::erf, .in_place = true},
    {.name = "Exp", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::exp, .in_place = true},
    {.name = "Expand", .since = 8, .reviewed = kNewest, .layout = view, .infer = infer_expand, .compute = expand, .view = view_expand},
    {.name = "Flatten", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_flatten, .compute = reshape, .view = view_reshape},
    {.name = "Floor", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::floor, .in_place = true},
    {.name = "Gather", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_gather, .compute = gather},
    {.name = "Gelu", .since = 20, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = gelu, .in_place = true},
    {.name = "Gemm", .since = 1, .reviewed = kNewest, .layout = barrier, .infer = infer_gemm, .compute = gemm},
    {.name = "GlobalAveragePool", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_global_pool, .compute = global_average_pool},
    {.name = "GlobalLpPool", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_global_pool, .compute = global_lp_pool},
    {.name = "GlobalMaxPool", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_global_pool, .compute = global_max_pool},
    {.name = "Greater", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_order, .compute = greater},
    {.name = "GreaterOrEqual", .since = 12, .reviewed = kNewest, .layout = agnostic, .infer = infer_order, .compute = greater_or_equal},
    {.name = "HardSigmoid", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = hard_sigmoid, .in_place = true},
    {.name = "HardSwish", .since = 14, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = hard_swish, .in_place = true},
    {.name = "Hardmax", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_softmax, .compute = hardmax},
    {.name = "Identity", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_identity, .compute = identity, .view = view_identity},
    {.name = "IsInf", .since = 10, .reviewed = kNewest, .layout = agnostic, .infer = infer_test_unary, .compute = is_inf},
    {.name = "IsNaN", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_test_unary, .compute = is_nan},
    {.name = "LeakyRelu", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = leaky_relu, .in_place = true},
    {.name = "Less", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_order, .compute = less},
    {.name = "LessOrEqual", .since = 12, .reviewed = kNewest, .layout = agnostic, .infer = infer_order, .compute = less_or_equal},
    {.name = "Log", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::log, .in_place = true},
    {.name = "LogSoftmax", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_softmax, .compute = log_softmax},
    {.name = "LpPool", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_pool, .compute = lp_pool},
    {.name = "MatMul", .since = 1, .reviewed = kNewest, .layout = barrier, .infer = infer_matmul, .compute = matmul},
    {.name = "Max", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_variadic_numeric, .compute = maximum},
    {.name = "MaxPool", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_pool, .compute = max_pool},
    {.name = "Mean", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_variadic_real, .compute = mean},
    {.name = "Min", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_variadic_numeric, .compute = minimum},
    {.name = "Mish", .since = 18, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = mish, .in_place = true},
    {.name = "Mod", .since = 10, .reviewed = kNewest, .layout = agnostic, .infer = infer_arithmetic, .compute = modulo, .in_place = true},
    {.name = "Mul", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_arithmetic, .compute = multiply, .in_place = true},
    {.name = "Neg", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_numeric_unary, .compute = negate, .in_place = true},
    {.name = "Not", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_boolean_unary, .compute = logical_not, .in_place = true},
    {.name = "Or", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_logical, .compute = logical_or, .in_place = true},
    {.name = "PRelu", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_prelu, .compute = prelu, .in_place = true},
    {.name = "Pad", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_pad, .compute = pad},
    {.name = "Pow", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_pow, .compute = power, .in_place = true},
    {.name = "Range", .since = 11, .reviewed = kNewest, .layout = shape_only, .infer = infer_range, .compute = range},
    {.name = "Reciprocal", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = reciprocal, .in_place = true},
    {.name = "ReduceL1", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_l1},
    {.name = "ReduceL2", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_l2},
    {.name = "ReduceLogSum", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_log_sum},
    {.name = "ReduceLogSumExp", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_log_sum_exp},
    {.name = "ReduceMax", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_max},
    {.name = "ReduceMean", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_mean},
    {.name = "ReduceMin", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_min},
    {.name = "ReduceProd", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_prod},
    {.name = "ReduceSum", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_sum},
    {.name = "ReduceSumSquare", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_reduce, .compute = reduce_sum_square},
    {.name = "Relu", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_numeric_unary, .compute = relu, .in_place = true},
    {.name = "Reshape", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_reshape, .compute = reshape, .view = view_reshape},
    {.name = "Round", .since = 11, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::round, .in_place = true},
    {.name = "Selu", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = selu, .in_place = true},
    {.name = "SequenceAt", .since = 11, .reviewed = kNewest, .layout = barrier, .infer = infer_sequence_at, .compute = sequence_at},
    {.name = "SequenceConstruct", .since = 11, .reviewed = kNewest, .layout = barrier, .infer = infer_sequence_construct, .compute = sequence_construct},
    {.name = "Shape", .since = 1, .reviewed = kNewest, .layout = shape_only, .infer = infer_shape, .compute = shape},
    {.name = "Shrink", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_numeric_unary, .compute = shrink, .in_place = true},
    {.name = "Sigmoid", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = sigmoid, .in_place = true},
    {.name = "Sign", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_numeric_unary, .compute = sign, .in_place = true},
    {.name = "Sin", .since = 7, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = sine, .in_place = true},
    {.name = "Sinh", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::sinh, .in_place = true},
    {.name = "Size", .since = 1, .reviewed = kNewest, .layout = shape_only, .infer = infer_size, .compute = kernels::size},
    {.name = "Slice", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_slice, .compute = slice, .view = view_slice},
    {.name = "Softmax", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_softmax, .compute = softmax},
    {.name = "Softplus", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = softplus, .in_place = true},
    {.name = "Softsign", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = softsign, .in_place = true},
    {.name = "Split", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_split, .compute = split, .view = view_split},
    {.name = "SplitToSequence", .since = 11, .reviewed = kNewest, .layout = barrier, .infer = infer_split_to_sequence, .compute = split_to_sequence},
    {.name = "Sqrt", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::sqrt, .in_place = true},
    {.name = "Squeeze", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_squeeze, .compute = reshape, .view = view_reshape},
    {.name = "Sub", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_arithmetic, .compute = subtract, .in_place = true},
    {.name = "Sum", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_variadic_real, .compute = sum},
    {.name = "Swish", .since = 24, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = swish, .in_place = true},
    {.name = "Tan", .since = 7, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::tan, .in_place = true},
    {.name = "Tanh", .since = 1, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = kernels::tanh, .in_place = true},
    {.name = "ThresholdedRelu", .since = 10, .reviewed = kNewest, .layout = agnostic, .infer = infer_real_unary, .compute = thresholded_relu, .in_place = true},
    {.name = "Tile", .since = 1, .reviewed = kNewest, .layout = axis_mapped, .infer = infer_tile, .compute = tile},
    {.name = "Transpose", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_transpose, .compute = transpose, .view = view_transpose},
    {.name = "Unsqueeze", .since = 1, .reviewed = kNewest, .layout = view, .infer = infer_unsqueeze, .compute = reshape, .view = view_reshape},
    {.name = "Where", .since = 9, .reviewed = kNewest, .layout = agnostic, .infer = infer_where, .compute = where},
    {.name = "Xor", .since = 7, .reviewed = kNewest, .layout = agnostic, .infer = infer_logical, .compute = logical_xor, .in_place = true},
});

constexpr bool is_sorted_and_unique() {
  for (std::size_t i = 1; i < kTable.size(); ++i) {
    if (kTable[i - 1].name >= kTable[i].name) return false;
  }
  return true;
}
static_assert(is_sorted_and_unique(), "the op table is sorted by name, each once");

}  // namespace

const Op* find_op(std::string_view name) {
  const auto found = std::ranges::lower_bound(kTable, name, {}, &Op::name);
  return found != kTable.end() && found->name == name ? &*found : nullptr;
}

std::span<const Op> op_table() { return kTable; }

}  // namespace relayout
