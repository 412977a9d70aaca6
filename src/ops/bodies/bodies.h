// Declarations of the functions that write the bodies of body_table.cpp, by the file in src/ops/bodies where each is.

#pragma once

#include "ops/body.h"

namespace relayout::bodies {

/// The bodies to which the lines of body_table.cpp refer, file by file.
using WriteFunction = void(Body& body);

// fused_activation.cpp: a product, followed by an activation that an attribute names.
WriteFunction fused_conv, fused_gemm, nhwc_conv;

// fused_attention.cpp
WriteFunction attention, qattention, multi_head_attention, rotary_embedding, embed_layer_normalization, bias_add, bias_softmax;

// group_query_attention.cpp
WriteFunction group_query_attention;

// gelu.cpp
WriteFunction gelu, bias_gelu, fast_gelu, quick_gelu;

// fused_matmul.cpp
WriteFunction fused_matmul;

// block_quantized.cpp
WriteFunction matmul_nbits, matmul_bnb4, gather_block_quantized;

// quantized.cpp
WriteFunction qlinear_add, qlinear_mul, qlinear_sigmoid, qlinear_leaky_relu, qlinear_reduce_mean, qlinear_where, qlinear_concat,
    qlinear_average_pool, qlinear_global_average_pool, qlinear_softmax, qgemm, dynamic_quantize_matmul, dynamic_quantize_lstm,
    matmul_integer_to_float, qlinear_conv, nhwc_max_pool, quantize_linear, dequantize_linear;

// fused_normalization.cpp
WriteFunction simplified_layer_normalization, skip_layer_normalization, skip_simplified_layer_normalization;

}  // namespace relayout::bodies
