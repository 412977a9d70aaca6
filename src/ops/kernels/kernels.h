// Declares all kernels and shape rules of the op table, by the file where each is.

#pragma once

#include "ops/operands.h"

namespace relayout::kernels {

// The kernels to which the lines of the op table refer, file by file.
using InferFunction = Inferred(const OpCall& call, InputInfos inputs);
using ComputeFunction = void(const OpCall& call, InputData inputs, OutputData outputs);
using ViewFunction = std::optional<Tensor>(const OpCall& call, InputData inputs, const DatumInfo& output, std::size_t index);

// unary.cpp: results of the operand's dims and type, or bool.
InferFunction infer_real_unary, infer_numeric_unary, infer_integer_unary, infer_boolean_unary, infer_test_unary;
ComputeFunction abs, acos, acosh, asin, asinh, atan, atanh, bitwise_not, ceil, celu, cos, cosh, elu, erf, exp, floor, gelu, hard_sigmoid,
    hard_swish, is_inf, is_nan, leaky_relu, log, logical_not, mish, negate, reciprocal, relu, round, selu, shrink, sigmoid, sign, sine,
    sinh, softplus, softsign, sqrt, swish, tan, tanh, thresholded_relu;

// binary.cpp: two and more operands with broadcasting.
InferFunction infer_arithmetic, infer_pow, infer_bitwise, infer_where, infer_clip, infer_prelu, infer_variadic_real, infer_variadic_numeric;
ComputeFunction add, subtract, multiply, divide, modulo, power, bit_shift, bitwise_and, bitwise_or, bitwise_xor, where, clip, prelu, sum,
    mean, maximum, minimum;

// comparison.cpp: tests of two operands with broadcasting.
InferFunction infer_equal, infer_order, infer_logical;
ComputeFunction equal, greater, greater_or_equal, less, less_or_equal, logical_and, logical_or, logical_xor;

// cast.cpp
InferFunction infer_cast, infer_cast_like, infer_bit_cast;
ComputeFunction cast, cast_like, bit_cast;

// shape.cpp: other positions of the same elements, or dims.
InferFunction infer_shape, infer_size, infer_identity, infer_reshape, infer_flatten, infer_squeeze, infer_unsqueeze, infer_transpose,
    infer_expand, infer_dropout, infer_depth_to_space, infer_space_to_depth, infer_reverse_sequence;
ComputeFunction shape, size, identity, reshape, transpose, expand, dropout, depth_to_space, space_to_depth, reverse_sequence;
ViewFunction view_identity, view_reshape, view_transpose, view_expand, view_dropout;

// parts.cpp: parts of a tensor and tensors from parts.
InferFunction infer_slice, infer_split, infer_concat, infer_tile, infer_center_crop_pad, infer_trilu;
ComputeFunction slice, split, concat, tile, center_crop_pad, trilu;
ViewFunction view_slice, view_split;

// pad.cpp
InferFunction infer_pad;
ComputeFunction pad;

// gather.cpp
InferFunction infer_gather, infer_gather_elements, infer_gather_nd, infer_scatter_elements, infer_scatter_nd, infer_tensor_scatter;
ComputeFunction gather, gather_elements, gather_nd, scatter_elements, scatter_nd, tensor_scatter;

// top_k.cpp
InferFunction infer_arg, infer_top_k;
ComputeFunction arg_max, arg_min, top_k;

// generate.cpp: tensors from shapes, attributes and random numbers.
InferFunction infer_constant, infer_constant_of_shape, infer_range, infer_eye_like, infer_random, infer_random_like, infer_bernoulli,
    infer_multinomial;
ComputeFunction constant, constant_of_shape, range, eye_like, random_normal, random_uniform, bernoulli, multinomial;

// sequence.cpp
InferFunction infer_split_to_sequence, infer_sequence_at, infer_sequence_construct, infer_concat_from_sequence, infer_sequence_empty,
    infer_sequence_length, infer_sequence_insert, infer_sequence_erase, infer_optional, infer_optional_has_element,
    infer_optional_get_element;
ComputeFunction split_to_sequence, sequence_at, sequence_construct, concat_from_sequence, sequence_empty, sequence_length, sequence_insert,
    sequence_erase, optional, optional_has_element, optional_get_element;

// convolution.cpp
InferFunction infer_conv, infer_conv_transpose;
ComputeFunction conv, conv_transpose;

// pool.cpp
InferFunction infer_pool, infer_global_pool;
ComputeFunction max_pool, average_pool, lp_pool, global_average_pool, global_max_pool, global_lp_pool;

// matmul.cpp
InferFunction infer_matmul, infer_gemm, infer_det;
ComputeFunction matmul, gemm, det;

// normalization.cpp
InferFunction infer_batch_normalization, infer_layer_normalization, infer_rms_normalization, infer_instance_normalization,
    infer_group_normalization;
ComputeFunction batch_normalization, layer_normalization, rms_normalization, instance_normalization, group_normalization, lp_normalization,
    mean_variance_normalization, lrn;

// softmax.cpp
InferFunction infer_softmax, infer_loss;
ComputeFunction softmax, log_softmax, hardmax, negative_log_likelihood_loss, softmax_cross_entropy_loss;

// quantize.cpp
InferFunction infer_quantize_linear, infer_dequantize_linear, infer_dynamic_quantize_linear, infer_conv_integer, infer_qlinear_conv,
    infer_matmul_integer, infer_qlinear_matmul;
ComputeFunction quantize_linear, dequantize_linear, dynamic_quantize_linear, conv_integer, qlinear_conv, matmul_integer, qlinear_matmul;

// strings.cpp
InferFunction infer_string_concat, infer_string_split, infer_string_normalizer, infer_regex_full_match, infer_tf_idf_vectorizer;
ComputeFunction string_concat, string_split, string_normalizer, regex_full_match, tf_idf_vectorizer;

// attention.cpp: parts of transformer decoders.
InferFunction infer_attention, infer_rotary_embedding, infer_swiglu;
ComputeFunction attention, rotary_embedding, swiglu;

// linear_attention.cpp: recurrences with a state.
InferFunction infer_linear_attention, infer_causal_conv_with_state;
ComputeFunction linear_attention, causal_conv_with_state;

// classical/tree_ensemble.cpp: parts of tree ensembles.
InferFunction infer_trees;
ComputeFunction numbered_trees, positioned_trees;

// classical/features.cpp: features of classical models, and parts of support vector machines.
InferFunction infer_features, infer_squared_distances, infer_pairwise_probabilities;
ComputeFunction binarizer, imputer, squared_distances, pairwise_probabilities;

// classical/labels.cpp: labels, categories and maps.
InferFunction infer_encoder, infer_one_hot_encoder, infer_zip_map, infer_dict_vectorizer;
ComputeFunction encoder, one_hot_encoder, zip_map, dict_vectorizer;
/// The keys that a DictVectorizer knows, in order.
[[nodiscard]] Tensor vocabulary(const OpCall& call);

// select.cpp: results whose size depends on contents, and one-hot vectors.
InferFunction infer_non_zero, infer_compress, infer_unique, infer_one_hot;
ComputeFunction non_zero, compress, unique, one_hot;

// non_max_suppression.cpp
InferFunction infer_non_max_suppression;
ComputeFunction non_max_suppression;

// cumulative.cpp
InferFunction infer_cumulative;
ComputeFunction cum_sum, cum_prod;

// einsum.cpp
InferFunction infer_einsum;
ComputeFunction einsum;

// recurrent.cpp
InferFunction infer_recurrent;
ComputeFunction recurrent;

// sample.cpp: interpolation at computed positions.
InferFunction infer_grid_sample, infer_affine_grid, infer_roi_align, infer_max_roi_pool;
ComputeFunction grid_sample, affine_grid, roi_align, max_roi_pool;

// unfold.cpp
InferFunction infer_col2im, infer_max_unpool, infer_deform_conv;
ComputeFunction col2im, max_unpool, deform_conv;

// signal.cpp
InferFunction infer_dft, infer_stft, infer_window, infer_mel_weight_matrix;
ComputeFunction dft, stft, hann_window, hamming_window, blackman_window, mel_weight_matrix;

// resize.cpp
InferFunction infer_resize;
ComputeFunction resize;

// reduce.cpp
InferFunction infer_reduce;
ComputeFunction reduce_l1, reduce_l2, reduce_log_sum, reduce_log_sum_exp, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum,
    reduce_sum_square;

}  // namespace relayout::kernels
