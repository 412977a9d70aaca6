// Lists ONNX's own operators with all facts about each.

#include <cmath>

#include "model/check.h"
#include "model/functions.h"
#include "model/node.h"
#include "ops/body.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

using enum LayoutRule;
using enum Trait;
using namespace kernels;

/// Every operator was reviewed up to the opset that models may have.
constexpr int kNewest = kReviewedOpset;

// Traits that many operators share.
constexpr Traits kNone = Traits::none();
constexpr Traits kUnary = same_dims | same_type;
constexpr Traits kBinary = broadcasts | same_type;
constexpr Traits kComparison = broadcasts | makes_boolean | jumps | piecewise | Traits::takes_all_exactly();
constexpr Traits kProduct = multiplies | costly;
constexpr Traits kDecision = jumps | chooses;
constexpr Traits kRenames = keeps_order | permutes | Traits::moves(0);
constexpr Traits moves(std::size_t input) {
  return Traits::moves(input);
}
constexpr Traits moves_all() {
  return Traits::moves_all();
}
constexpr Traits convolves_with(std::size_t input) {
  return kProduct | batched | Traits::convolves_with(input);
}
constexpr Traits exactly(std::size_t input) {
  return Traits::takes_exactly(input);
}
constexpr Traits all_exactly() {
  return Traits::takes_all_exactly();
}
constexpr Traits reads_dims(std::size_t input) {
  return Traits::reads_dims(input);
}
constexpr Traits reads_type(std::size_t input) {
  return Traits::reads_type(input);
}
/// Facts about inputs `first` to `last`, or `first` alone.
constexpr Traits sizes(std::size_t first, std::size_t last = 0) {
  return Traits::gives_sizes_by(first, std::max(first, last));
}
constexpr Traits starts_from(std::size_t first, std::size_t last = 0) {
  return Traits::starts_from(first, std::max(first, last));
}
constexpr Traits raises_to(double exponent) {
  return Traits::raises_to(exponent);
}
constexpr Traits weak(Weakness why, std::size_t first, std::size_t last = 0) {
  return Traits::weak_in(why, first, std::max(first, last));
}

/// Result i depends on element i of the operands alone, so it may overwrite the first operand.
constexpr Op elementwise_op(std::string_view name, int since, Traits traits, Infer infer, Compute compute) {
  return {.name = name,
          .since = since,
          .reviewed = kNewest,
          .layout = agnostic,
          .traits = traits | elementwise,
          .infer = infer,
          .compute = compute,
          .in_place = true};
}

/// Control flow: the executor runs the nested graphs.
constexpr Op control(std::string_view name, int since) {
  return {
      .name = name, .since = since, .reviewed = kNewest, .layout = barrier, .traits = control_flow, .infer = nullptr, .compute = nullptr};
}

/// One line per operator, sorted by name. Names of kernels that C's math library has too are qualified.
constexpr auto kTable = std::to_array<Op>({
    elementwise_op("Abs", 1, kUnary | post_op | exact | contracts | piecewise | homogeneous, infer_numeric_unary, kernels::abs),
    elementwise_op("Acos", 7, kUnary | piecewise | Weakness::steep, infer_real_unary, kernels::acos),
    elementwise_op("Acosh", 9, kUnary | piecewise | Weakness::steep | increases, infer_real_unary, kernels::acosh),
    elementwise_op("Add", 1, kBinary | affine | Arithmetic::add | piecewise, infer_arithmetic, add),
    {"AffineGrid", 20, kNewest, barrier, same_type | sizes(1) | Weakness::position, infer_affine_grid, affine_grid},
    elementwise_op("And", 1, broadcasts | makes_boolean | Predicate::logical_and, infer_logical, logical_and),
    {"ArgMax", 1, kNewest, axis_mapped, makes_int64 | jumps | searches | Along::axis, infer_arg, arg_max},
    {"ArgMin", 1, kNewest, axis_mapped, makes_int64 | jumps | searches | Along::axis, infer_arg, arg_min},
    elementwise_op("Asin", 7, kUnary | piecewise | Weakness::steep | increases, infer_real_unary, kernels::asin),
    elementwise_op("Asinh", 9, kUnary | contracts | increases, infer_real_unary, kernels::asinh),
    elementwise_op("Atan", 7, kUnary | contracts | increases, infer_real_unary, kernels::atan),
    elementwise_op("Atanh", 9, kUnary | piecewise | Weakness::steep | increases, infer_real_unary, kernels::atanh),
    {"Attention", 23, kNewest, barrier, same_type | kProduct, infer_attention, attention},
    {"AveragePool", 1, kNewest, agnostic, same_type | dense | averages | pools | batched, infer_pool, average_pool},
    {"BatchNormalization", 1, kNewest, agnostic, kUnary | affine | weak(Weakness::variance, 1, 4) | batched, infer_batch_normalization,
     batch_normalization},
    {"Bernoulli", 15, kNewest, barrier, same_dims | random | jumps, infer_bernoulli, bernoulli},
    {"BitCast", 26, kNewest, agnostic, same_dims | jumps | elementwise, infer_bit_cast, bit_cast},
    elementwise_op("BitShift", 11, kBinary, infer_bitwise, bit_shift),
    elementwise_op("BitwiseAnd", 18, kBinary, infer_bitwise, bitwise_and),
    elementwise_op("BitwiseNot", 18, kUnary, infer_integer_unary, bitwise_not),
    elementwise_op("BitwiseOr", 18, kBinary, infer_bitwise, bitwise_or),
    elementwise_op("BitwiseXor", 18, kBinary, infer_bitwise, bitwise_xor),
    {"BlackmanWindow", 17, kNewest, barrier, sizes(0), infer_window, blackman_window},
    {"Cast", 1, kNewest, agnostic, same_dims | casts | jumps | elementwise | piecewise, infer_cast, cast},
    {"CastLike", 15, kNewest, agnostic, same_dims | casts | jumps | reads_type(1) | elementwise | piecewise, infer_cast_like, cast_like},
    {"CausalConvWithState", 27, kNewest, barrier, kUnary | kProduct, infer_causal_conv_with_state, causal_conv_with_state},
    elementwise_op("Ceil", 1, kUnary | jumps | exact | exactly(0) | Rounds::up, infer_real_unary, kernels::ceil),
    elementwise_op("Celu", 12, kUnary | contracts | piecewise, infer_real_unary, celu),
    {"CenterCropPad", 18, kNewest, barrier, same_type | moves(0) | sizes(1) | fills, infer_center_crop_pad, center_crop_pad},
    elementwise_op("Clip", 1, kUnary | post_op | clips | exact | contracts | exactly(1) | exactly(2) | piecewise, infer_clip, clip),
    {"Col2Im", 18, kNewest, barrier, same_type | sizes(1, 2) | Weakness::sum, infer_col2im, col2im},
    {"Compress", 9, kNewest, barrier, same_type | moves(0), infer_compress, compress},
    {"Concat", 1, kNewest, axis_mapped, same_type | one_is_itself | moves_all() | Along::axis, infer_concat, concat},
    {"ConcatFromSequence", 11, kNewest, barrier, same_type | moves(0), infer_concat_from_sequence, concat_from_sequence},
    {"Constant", 1, kNewest, shape_only, exact, infer_constant, constant},
    {"ConstantOfShape", 9, kNewest, shape_only, exact | sizes(0), infer_constant_of_shape, constant_of_shape},
    {"Conv", 1, kNewest, wants, same_type | dense | linear | convolves_with(1), infer_conv, conv},
    {"ConvInteger", 10, kNewest, wants, quantized | convolves_with(1), infer_conv_integer, conv_integer},
    {"ConvTranspose", 1, kNewest, wants, same_type | dense | linear | Trait::transposed | convolves_with(1), infer_conv_transpose,
     conv_transpose},
    elementwise_op("Cos", 7, kUnary | contracts | Weakness::position, infer_real_unary, kernels::cos),
    elementwise_op("Cosh", 9, kUnary | Weakness::exponential, infer_real_unary, kernels::cosh),
    {"CumProd", 26, kNewest, axis_mapped, kUnary | Along::axis_operand | Weakness::sum, infer_cumulative, cum_prod},
    {"CumSum", 11, kNewest, axis_mapped, kUnary | piecewise | Along::axis_operand | Weakness::sum, infer_cumulative, cum_sum},
    {"DFT", 17, kNewest, barrier, same_type | costly | sizes(1, 2) | Weakness::sum, infer_dft, dft},
    {"DeformConv", 19, kNewest, barrier, same_type | kProduct | Weakness::position, infer_deform_conv, deform_conv},
    {"DepthToSpace", 1, kNewest, axis_mapped, same_type | permutes | moves(0) | batched, infer_depth_to_space, depth_to_space},
    {"DequantizeLinear", 10, kNewest, agnostic, same_dims | quantizes | Along::axis | Weakness::scale, infer_dequantize_linear,
     dequantize_linear},
    {"Det", 11, kNewest, barrier, same_type | costly | Weakness::sum, infer_det, det},
    elementwise_op("Div", 1, kBinary | affine | Arithmetic::divide, infer_arithmetic, divide),
    {"Dropout", 1, kNewest, view, kUnary | moves(0) | Trait::identity | exactly(1), infer_dropout, dropout, view_dropout},
    {"DynamicQuantizeLinear", 11, kNewest, agnostic, same_dims | quantizes | kDecision | Weakness::scale, infer_dynamic_quantize_linear,
     dynamic_quantize_linear},
    {"Einsum", 12, kNewest, barrier, same_type | kProduct, infer_einsum, einsum},
    elementwise_op("Elu", 1, kUnary | post_op | contracts | piecewise, infer_real_unary, elu),
    {"Equal", 1, kNewest, agnostic, kComparison | elementwise | Predicate::equal, infer_equal, equal},
    elementwise_op("Erf", 9, kUnary | increases, infer_real_unary, kernels::erf),
    elementwise_op("Exp", 1, kUnary | piecewise | Weakness::exponential | increases, infer_real_unary, kernels::exp),
    {"Expand", 8, kNewest, view, same_type | moves(0) | sizes(1), infer_expand, expand, view_expand},
    {"EyeLike", 9, kNewest, barrier, same_dims | reads_dims(0) | exact, infer_eye_like, eye_like},
    {"Flatten", 1, kNewest, view, same_type | kRenames | Along::axis, infer_flatten, reshape, view_reshape},
    elementwise_op("Floor", 1, kUnary | jumps | exact | exactly(0) | Rounds::down, infer_real_unary, kernels::floor),
    {"GRU", 1, kNewest, barrier, same_type | kProduct | Trait::recurrent | starts_from(5), infer_recurrent, kernels::recurrent},
    {"Gather", 1, kNewest, axis_mapped, same_type | moves(0) | indexes | Along::axis, infer_gather, gather},
    {"GatherElements", 11, kNewest, axis_mapped, same_type | moves(0) | indexes | Along::axis, infer_gather_elements, gather_elements},
    {"GatherND", 11, kNewest, barrier, same_type | moves(0) | indexes, infer_gather_nd, gather_nd},
    elementwise_op("Gelu", 20, kUnary, infer_real_unary, gelu),
    {"Gemm", 1, kNewest, barrier, same_type | linear | kProduct, infer_gemm, gemm},
    {"GlobalAveragePool", 1, kNewest, agnostic, same_type | dense | averages | pools | batched, infer_global_pool, global_average_pool},
    {"GlobalLpPool", 1, kNewest, agnostic, same_type | pools | batched, infer_global_pool, global_lp_pool},
    {"GlobalMaxPool", 1, kNewest, agnostic, same_type | dense | exact | pools | batched, infer_global_pool, global_max_pool},
    {"Greater", 1, kNewest, agnostic, kComparison | elementwise | Predicate::greater, infer_order, greater},
    {"GreaterOrEqual", 12, kNewest, agnostic, kComparison | elementwise | Predicate::greater_or_equal, infer_order, greater_or_equal},
    {"GridSample", 16, kNewest, barrier, same_type | kDecision | costly | weak(Weakness::position, 1), infer_grid_sample, grid_sample},
    {"GroupNormalization", 18, kNewest, agnostic, kUnary | normalizes | Weakness::variance | batched, infer_group_normalization,
     group_normalization},
    {"HammingWindow", 17, kNewest, barrier, sizes(0), infer_window, hamming_window},
    {"HannWindow", 17, kNewest, barrier, sizes(0), infer_window, hann_window},
    elementwise_op("HardSigmoid", 1, kUnary | post_op | contracts | piecewise, infer_real_unary, hard_sigmoid),
    elementwise_op("HardSwish", 14, kUnary | post_op | piecewise, infer_real_unary, hard_swish),
    {"Hardmax", 1, kNewest, axis_mapped, kUnary | jumps | exact | searches | Along::axis, infer_softmax, hardmax},
    {"Identity", 1, kNewest, view, kUnary | kRenames | elementwise | contracts | Trait::identity | homogeneous | increases, infer_identity,
     kernels::identity, view_identity},
    control("If", 1),
    {"InstanceNormalization", 1, kNewest, agnostic, kUnary | normalizes | Weakness::variance | batched, infer_instance_normalization,
     instance_normalization},
    {"IsInf", 10, kNewest, agnostic, same_dims | makes_boolean | elementwise | Trait::tests, infer_test_unary, is_inf},
    {"IsNaN", 9, kNewest, agnostic, same_dims | makes_boolean | elementwise | Trait::tests, infer_test_unary, is_nan},
    {"LRN", 1, kNewest, agnostic, kUnary | Weakness::variance | batched, infer_real_unary, lrn},
    {"LSTM", 1, kNewest, barrier, same_type | kProduct | Trait::recurrent | starts_from(5, 6), infer_recurrent, kernels::recurrent},
    {"LayerNormalization", 1, kNewest, axis_mapped, kUnary | normalizes | Along::axis | Weakness::variance, infer_layer_normalization,
     layer_normalization},
    elementwise_op("LeakyRelu", 1, kUnary | post_op | contracts | piecewise | homogeneous, infer_real_unary, leaky_relu),
    {"Less", 1, kNewest, agnostic, kComparison | elementwise | Predicate::less, infer_order, less},
    {"LessOrEqual", 12, kNewest, agnostic, kComparison | elementwise | Predicate::less_or_equal, infer_order, less_or_equal},
    {"LinearAttention", 27, kNewest, barrier, same_type | kProduct | Weakness::feedback, infer_linear_attention, linear_attention},
    elementwise_op("Log", 1, kUnary | post_op | piecewise | Weakness::logarithm | increases, infer_real_unary, kernels::log),
    {"LogSoftmax", 1, kNewest, axis_mapped, kUnary | Along::axis | Weakness::exponential | Trait::softmax | increases, infer_softmax,
     log_softmax},
    control("Loop", 1),
    {"LpNormalization", 1, kNewest, agnostic, kUnary | Along::axis | Weakness::variance, infer_real_unary, lp_normalization},
    {"LpPool", 1, kNewest, agnostic, same_type | pools | Weakness::variance | batched, infer_pool, lp_pool},
    {"MatMul", 1, kNewest, barrier, same_type | linear | kProduct, infer_matmul, matmul},
    {"MatMulInteger", 10, kNewest, barrier, kProduct | quantized, infer_matmul_integer, matmul_integer},
    {"Max", 1, kNewest, agnostic, kBinary | one_is_itself | elementwise | exact | Arithmetic::maximum | piecewise, infer_variadic_numeric,
     maximum},
    {"MaxPool", 1, kNewest, agnostic, same_type | dense | exact | pools | batched, infer_pool, max_pool},
    {"MaxRoiPool", 1, kNewest, barrier, same_type | kDecision | costly | exact | Weakness::position, infer_max_roi_pool, max_roi_pool},
    {"MaxUnpool", 9, kNewest, barrier, same_type | moves(0) | sizes(1, 2) | fills, infer_max_unpool, max_unpool},
    {"Mean", 1, kNewest, agnostic, kBinary | one_is_itself | elementwise | Arithmetic::mean, infer_variadic_real, mean},
    {"MeanVarianceNormalization", 9, kNewest, agnostic, kUnary | Along::axes | Weakness::variance, infer_real_unary,
     mean_variance_normalization},
    {"MelWeightMatrix", 17, kNewest, barrier, jumps | all_exactly() | sizes(0, 4) | Weakness::position, infer_mel_weight_matrix,
     mel_weight_matrix},
    {"Min", 1, kNewest, agnostic, kBinary | one_is_itself | elementwise | exact | Arithmetic::minimum | piecewise, infer_variadic_numeric,
     minimum},
    elementwise_op("Mish", 18, kUnary, infer_real_unary, mish),
    elementwise_op("Mod", 10, kBinary | jumps | all_exactly() | piecewise | Weakness::position, infer_arithmetic, modulo),
    elementwise_op("Mul", 1, kBinary | affine | Arithmetic::multiply | piecewise, infer_arithmetic, kernels::multiply),
    {"Multinomial", 7, kNewest, barrier, random | kDecision | Weakness::exponential, infer_multinomial, multinomial},
    elementwise_op("Neg", 1, kUnary | affine | exact | contracts | Arithmetic::negate | homogeneous, infer_numeric_unary, negate),
    {"NegativeLogLikelihoodLoss", 12, kNewest, barrier, same_type | Weakness::sum, infer_loss, negative_log_likelihood_loss},
    {"NonMaxSuppression", 10, kNewest, barrier,
     makes_int64 | kDecision | costly | exactly(2) | exactly(3) | exactly(4) | Weakness::position, infer_non_max_suppression,
     non_max_suppression},
    {"NonZero", 9, kNewest, barrier, makes_int64 | jumps, infer_non_zero, non_zero},
    elementwise_op("Not", 1, kUnary | makes_boolean | Predicate::logical_not, infer_boolean_unary, logical_not),
    {"OneHot", 9, kNewest, barrier, moves(2) | exact | exactly(1) | exactly(2) | sizes(1), infer_one_hot, one_hot},
    {"Optional", 15, kNewest, barrier, moves(0), infer_optional, kernels::optional},
    {"OptionalGetElement", 15, kNewest, barrier, moves(0), infer_optional_get_element, optional_get_element},
    {"OptionalHasElement", 15, kNewest, barrier, makes_boolean, infer_optional_has_element, optional_has_element},
    elementwise_op("Or", 1, broadcasts | makes_boolean | Predicate::logical_or, infer_logical, logical_or),
    elementwise_op("PRelu", 1, kUnary | piecewise, infer_prelu, prelu),
    {"Pad", 1, kNewest, axis_mapped, same_type | moves(0) | moves(2) | exactly(2) | sizes(1) | sizes(3) | fills, infer_pad, pad},
    elementwise_op("Pow", 1, kBinary | exactly(1) | piecewise | Weakness::variance, infer_pow, power),
    {"QLinearConv", 10, kNewest, wants, quantized | kDecision | convolves_with(3) | Weakness::scale, infer_qlinear_conv, qlinear_conv},
    {"QLinearMatMul", 10, kNewest, barrier, kProduct | quantized | kDecision | Weakness::scale, infer_qlinear_matmul, qlinear_matmul},
    {"QuantizeLinear", 10, kNewest, agnostic, same_dims | quantizes | kDecision | Along::axis | Weakness::scale, infer_quantize_linear,
     quantize_linear},
    {"RMSNormalization", 23, kNewest, axis_mapped, same_dims | Along::axis | Weakness::variance, infer_rms_normalization,
     rms_normalization},
    {"RNN", 1, kNewest, barrier, same_type | kProduct | Trait::recurrent | starts_from(5), infer_recurrent, kernels::recurrent},
    {"RandomNormal", 1, kNewest, barrier, random, infer_random, random_normal},
    {"RandomNormalLike", 1, kNewest, barrier, same_dims | random | reads_dims(0), infer_random_like, random_normal},
    {"RandomUniform", 1, kNewest, barrier, random, infer_random, random_uniform},
    {"RandomUniformLike", 1, kNewest, barrier, same_dims | random | reads_dims(0), infer_random_like, random_uniform},
    {"Range", 11, kNewest, shape_only, same_type | jumps | all_exactly() | sizes(0, 2) | Weakness::position, infer_range, range},
    elementwise_op("Reciprocal", 1, kUnary | Weakness::steep | raises_to(-1), infer_real_unary, reciprocal),
    {"ReduceL1", 1, kNewest, axis_mapped, same_type | Along::axes | Weakness::sum | Reduces::l1, infer_reduce, reduce_l1},
    {"ReduceL2", 1, kNewest, axis_mapped, same_type | Along::axes | Weakness::variance | Reduces::l2, infer_reduce, reduce_l2},
    {"ReduceLogSum", 1, kNewest, axis_mapped, same_type | Along::axes | Weakness::logarithm | Reduces::log_sum, infer_reduce,
     reduce_log_sum},
    {"ReduceLogSumExp", 1, kNewest, axis_mapped, same_type | Along::axes | Weakness::exponential | Reduces::log_sum_exp, infer_reduce,
     reduce_log_sum_exp},
    {"ReduceMax", 1, kNewest, axis_mapped, same_type | exact | Along::axes | Reduces::maximum, infer_reduce, reduce_max},
    {"ReduceMean", 1, kNewest, axis_mapped, same_type | Along::axes | Weakness::sum | Reduces::mean, infer_reduce, reduce_mean},
    {"ReduceMin", 1, kNewest, axis_mapped, same_type | exact | Along::axes | Reduces::minimum, infer_reduce, reduce_min},
    {"ReduceProd", 1, kNewest, axis_mapped, same_type | piecewise | Along::axes | Weakness::sum | Reduces::product, infer_reduce,
     reduce_prod},
    {"ReduceSum", 1, kNewest, axis_mapped, same_type | piecewise | Along::axes | Weakness::sum | Reduces::sum, infer_reduce, reduce_sum},
    {"ReduceSumSquare", 1, kNewest, axis_mapped, same_type | Along::axes | Weakness::variance | Reduces::sum_square, infer_reduce,
     reduce_sum_square},
    {"RegexFullMatch", 20, kNewest, barrier, same_dims | makes_boolean | elementwise, infer_regex_full_match, regex_full_match},
    elementwise_op("Relu", 1, kUnary | post_op | clips | exact | contracts | piecewise | homogeneous, infer_numeric_unary, relu),
    {"Reshape", 1, kNewest, view, same_type | kRenames | sizes(1), infer_reshape, reshape, view_reshape},
    {"Resize", 10, kNewest, axis_mapped,
     same_type | kDecision | costly | exactly(1) | exactly(2) | exactly(3) | sizes(1, 3) | weak(Weakness::position, 1, 2) | batched,
     infer_resize, kernels::resize},
    {"ReverseSequence", 10, kNewest, axis_mapped, kUnary | permutes | moves(0), infer_reverse_sequence, reverse_sequence},
    {"RoiAlign", 10, kNewest, barrier, same_type | kDecision | costly | Weakness::position, infer_roi_align, roi_align},
    {"RotaryEmbedding", 23, kNewest, barrier, kUnary, infer_rotary_embedding, rotary_embedding},
    elementwise_op("Round", 11, kUnary | jumps | exact | exactly(0) | Rounds::to_nearest, infer_real_unary, kernels::round),
    {"STFT", 17, kNewest, barrier, same_type | costly | sizes(1) | sizes(3) | Weakness::sum, infer_stft, stft},
    control("Scan", 8),
    {"Scatter", 9, kNewest, axis_mapped, kUnary | moves(0) | moves(2) | indexes | Along::axis, infer_scatter_elements, scatter_elements},
    {"ScatterElements", 11, kNewest, axis_mapped, kUnary | indexes | Along::axis, infer_scatter_elements, scatter_elements},
    {"ScatterND", 11, kNewest, barrier, kUnary | indexes, infer_scatter_nd, scatter_nd},
    elementwise_op("Selu", 1, kUnary | piecewise, infer_real_unary, selu),
    {"SequenceAt", 11, kNewest, barrier, same_type | moves(0), infer_sequence_at, sequence_at},
    {"SequenceConstruct", 11, kNewest, barrier, same_type | moves_all(), infer_sequence_construct, sequence_construct},
    {"SequenceEmpty", 11, kNewest, barrier, kNone, infer_sequence_empty, sequence_empty},
    {"SequenceErase", 11, kNewest, barrier, same_type | moves(0), infer_sequence_erase, sequence_erase},
    {"SequenceInsert", 11, kNewest, barrier, same_type | moves(0) | moves(1), infer_sequence_insert, sequence_insert},
    {"SequenceLength", 11, kNewest, barrier, makes_int64, infer_sequence_length, sequence_length},
    control("SequenceMap", 17),
    {"Shape", 1, kNewest, shape_only, makes_int64 | reads_dims(0), infer_shape, shape},
    elementwise_op("Shrink", 9, kUnary | jumps | piecewise, infer_numeric_unary, shrink),
    elementwise_op("Sigmoid", 1, kUnary | post_op | contracts | increases, infer_real_unary, sigmoid),
    elementwise_op("Sign", 9, kUnary | jumps | exact | exactly(0) | piecewise, infer_numeric_unary, sign),
    elementwise_op("Sin", 7, kUnary | contracts | Weakness::position, infer_real_unary, sine),
    elementwise_op("Sinh", 9, kUnary | Weakness::exponential | increases, infer_real_unary, kernels::sinh),
    {"Size", 1, kNewest, shape_only, makes_int64 | reads_dims(0), infer_size, kernels::size},
    {"Slice", 1, kNewest, view, same_type | moves(0) | sizes(1, 4), infer_slice, slice, view_slice},
    {"Softmax", 1, kNewest, axis_mapped, kUnary | dense | Along::axis | Weakness::exponential | Trait::softmax | increases, infer_softmax,
     kernels::softmax},
    {"SoftmaxCrossEntropyLoss", 12, kNewest, barrier, same_type | Weakness::exponential, infer_loss, softmax_cross_entropy_loss},
    elementwise_op("Softplus", 1, kUnary | post_op | contracts | Weakness::exponential | increases, infer_real_unary, softplus),
    elementwise_op("Softsign", 1, kUnary | contracts | increases, infer_real_unary, softsign),
    {"SpaceToDepth", 1, kNewest, axis_mapped, same_type | permutes | moves(0) | batched, infer_space_to_depth, space_to_depth},
    {"Split", 1, kNewest, view, same_type | moves(0) | Along::axis | sizes(1), infer_split, split, view_split},
    {"SplitToSequence", 11, kNewest, barrier, same_type | moves(0) | Along::axis | sizes(1), infer_split_to_sequence, split_to_sequence},
    elementwise_op("Sqrt", 1, kUnary | post_op | piecewise | raises_to(0.5) | increases, infer_real_unary, kernels::sqrt),
    {"Squeeze", 1, kNewest, view, same_type | kRenames | Along::axes, infer_squeeze, reshape, view_reshape},
    {"StringConcat", 20, kNewest, barrier, kBinary | elementwise, infer_string_concat, string_concat},
    {"StringNormalizer", 10, kNewest, barrier, same_type, infer_string_normalizer, string_normalizer},
    {"StringSplit", 20, kNewest, barrier, kNone, infer_string_split, string_split},
    elementwise_op("Sub", 1, kBinary | affine | Arithmetic::subtract | piecewise, infer_arithmetic, subtract),
    {"Sum", 1, kNewest, agnostic, kBinary | one_is_itself | affine | elementwise | Arithmetic::add | piecewise, infer_variadic_real, sum},
    elementwise_op("SwiGLU", 28, kUnary, infer_swiglu, swiglu),
    elementwise_op("Swish", 24, kUnary | post_op, infer_real_unary, swish),
    elementwise_op("Tan", 7, kUnary | Weakness::steep, infer_real_unary, kernels::tan),
    elementwise_op("Tanh", 1, kUnary | post_op | contracts | increases, infer_real_unary, kernels::tanh),
    {"TensorScatter", 24, kNewest, barrier, kUnary | moves(0) | moves(1) | Along::axis, infer_tensor_scatter, tensor_scatter},
    {"TfIdfVectorizer", 9, kNewest, barrier, kNone, infer_tf_idf_vectorizer, tf_idf_vectorizer},
    elementwise_op("ThresholdedRelu", 10, kUnary | jumps | exact | piecewise, infer_real_unary, thresholded_relu),
    {"Tile", 1, kNewest, axis_mapped, same_type | moves(0) | sizes(1), infer_tile, tile},
    {"TopK", 1, kNewest, axis_mapped, same_type | jumps | exact | searches | Along::axis | sizes(1), infer_top_k, top_k},
    {"Transpose", 1, kNewest, view, same_type | permutes | moves(0), infer_transpose, transpose, view_transpose},
    {"Trilu", 14, kNewest, barrier, kUnary | moves(0) | fills, infer_trilu, trilu},
    {"Unique", 11, kNewest, barrier, same_type | jumps | exact, infer_unique, unique},
    {"Unsqueeze", 1, kNewest, view, same_type | kRenames | Along::axes, infer_unsqueeze, reshape, view_reshape},
    {"Upsample", 1, kNewest, axis_mapped, same_type | kDecision | costly | exactly(1) | sizes(1) | weak(Weakness::position, 1) | batched,
     infer_resize, kernels::resize},
    {"Where", 9, kNewest, agnostic, broadcasts | moves(1) | moves(2) | elementwise | exact, infer_where, where},
    elementwise_op("Xor", 1, broadcasts | makes_boolean | Predicate::logical_xor, infer_logical, logical_xor),
});

static_assert(std::ranges::adjacent_find(kTable, std::ranges::greater_equal(), &Op::name) == kTable.end(),
              "the op table is sorted by name, each once");

/// Places of the op table by the hash of the name: open addressing, at most a quarter full, so that most names are found at the first
/// place.
constexpr std::size_t kPlaces = 1024;
static_assert(4 * kTable.size() <= kPlaces);

/// Of the length and three letters: a look-up is made for every node by every pass. Multiplies as Knuth does (TAOCP 6.4).
constexpr std::size_t place_of(std::string_view name) {
  if (name.empty()) return 0;
  const auto letter = [&](std::size_t index) { return static_cast<uint32_t>(static_cast<unsigned char>(name[index])); };
  const uint32_t mixed =
      letter(0) | letter(name.size() / 2) << 8U | letter(name.size() - 1) << 16U | static_cast<uint32_t>(name.size()) << 24U;
  return mixed * 2654435761U >> 22U;
}

constexpr auto kPlaceTable = [] {
  std::array<uint16_t, kPlaces> out{};  // 0: free; else the number of the entry, from 1 on
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    std::size_t place = place_of(kTable[i].name);
    while (out[place] != 0) place = (place + 1) % kPlaces;
    out[place] = static_cast<uint16_t>(i + 1);
  }
  return out;
}();

/// Whether the node calls a function of the model.
bool calls_function(const Node& node) {
  return std::ranges::any_of(node.graph().model().functions(), [&](const auto& graph) { return calls(node, *graph->function()); });
}

}  // namespace

const Op* find_op(std::string_view name) {
  for (std::size_t place = place_of(name); kPlaceTable[place] != 0; place = (place + 1) % kPlaces) {
    const Op& op = kTable[kPlaceTable[place] - 1U];
    if (op.name == name) return &op;
  }
  return nullptr;
}

const Op* find_op(const Node& node) {
  if (!node.message().overload().empty()) return nullptr;  // only functions have overloads
  const Op* const standard = node.domain().empty() ? find_op(node.op_type()) : nullptr;
  if (standard != nullptr) return standard;
  const Op* const composed = find_composed(node.domain(), node.op_type());
  return composed != nullptr && !calls_function(node) ? composed : nullptr;
}

const Op* find_kernel(const Node& node) {
  const Op* const op = node.subgraphs().empty() ? find_op(node) : nullptr;
  return op != nullptr && op->compute != nullptr ? op : nullptr;
}

Traits traits_of(const Node& node) {
  const Op* const op = find_op(node);
  return op != nullptr ? op->traits : Traits::none();
}

double rounded(Rounds how, double number) noexcept {
  switch (how) {
    case Rounds::to_nearest:
      return std::nearbyint(number);
    case Rounds::down:
      return std::floor(number);
    case Rounds::up:
      return std::ceil(number);
    case Rounds::none:
      break;
  }
  return number;
}

bool limits(const Node& node) {
  const Traits traits = traits_of(node);
  const bool is_given = traits.has(Trait::clips) && traits.is_taken_exactly(1);
  return is_given || traits.arithmetic() == Arithmetic::maximum || traits.arithmetic() == Arithmetic::minimum;
}

bool only_selects(const Value& value) {
  const Traits traits = value.producer() == nullptr ? Traits::none() : traits_of(*value.producer());
  const bool may_drop = traits.has(Trait::identity) && !traits.has(Trait::keeps_order);  // Dropout, whose second result is a mask
  return traits.moves_input(0) && !traits.moves_input(1) && !traits.moves_input(2) && !traits.has(Trait::fills) && !may_drop;
}

bool only_moves(const Node& node) {
  const Traits traits = traits_of(node);
  const bool chooses_by_operand = node.is("OneHot");
  return (traits.moves_input(0) || traits.moves_input(1)) && node.attribute("reduction") == nullptr && !chooses_by_operand;
}

bool only_moves_axes(const Node& node) {
  const Op* const op = find_op(node);
  return op != nullptr && op->layout == LayoutRule::view && op->traits.has(Trait::permutes) && !op->traits.has(Trait::identity);
}

const Value* less_its_largest(const Node& node) {
  const auto is_largest_of = [](const Value* value, const Value* of) {
    const Node* const largest = value == nullptr ? nullptr : value->producer();
    return largest != nullptr && reduces(*largest) == Reduces::maximum && largest->input(0) == of &&
           Attributes(*largest).integer("keepdims", 1) != 0;
  };
  const Arithmetic arithmetic = arithmetic_of(node);
  if (arithmetic == Arithmetic::subtract && is_largest_of(node.input(1), node.input(0))) return node.input(0);
  if (arithmetic != Arithmetic::add || node.inputs().size() != 2) return nullptr;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Node* const negated = node.input(1 - i) == nullptr ? nullptr : node.input(1 - i)->producer();
    const bool is_negative = negated != nullptr && arithmetic_of(*negated) == Arithmetic::negate;
    if (is_negative && is_largest_of(negated->input(0), node.input(i))) return node.input(i);
  }
  return nullptr;
}

std::span<const Op> op_table() {
  return kTable;
}

}  // namespace relayout
