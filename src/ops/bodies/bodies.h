// Declarations of the functions that write the bodies of body_table.cpp, by the file in src/ops/bodies where each is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/body.h"

namespace relayout::bodies {

/// The bodies to which the lines of body_table.cpp refer, file by file.
using WriteFunction = void(Body& body);

// fused.cpp
WriteFunction fused_conv, fused_gemm, nhwc_conv, fused_matmul, gelu, bias_gelu, fast_gelu, quick_gelu, simplified_layer_normalization,
    skip_layer_normalization, skip_simplified_layer_normalization;

// fused_attention.cpp
WriteFunction attention, qattention, multi_head_attention, rotary_embedding, embed_layer_normalization, bias_add, bias_softmax;

// group_query_attention.cpp
WriteFunction group_query_attention;

// block_quantized.cpp
WriteFunction matmul_nbits, matmul_bnb4, gather_block_quantized;

// quantized.cpp
WriteFunction qlinear_add, qlinear_mul, qlinear_sigmoid, qlinear_leaky_relu, qlinear_reduce_mean, qlinear_where, qlinear_concat,
    qlinear_average_pool, qlinear_global_average_pool, qlinear_softmax, qgemm, dynamic_quantize_matmul, dynamic_quantize_lstm,
    matmul_integer_to_float, qlinear_conv, nhwc_max_pool, quantize_linear, dequantize_linear;

// ml_linear.cpp
WriteFunction scaler, normalizer, feature_vectorizer, array_feature_extractor, linear_regressor, linear_classifier, svm_regressor,
    svm_classifier;

// tree_ensembles.cpp
WriteFunction tree_ensemble_classifier, tree_ensemble_regressor, tree_ensemble;

// Helpers that bodies of ai.onnx.ml share (ml_linear.cpp).

/// An input of rank 1 or 2 as a matrix: a vector is a single row.
[[nodiscard]] Body::Name feature_rows(Body& body, std::size_t input);
/// `value`, which has the type of an input, as f32.
[[nodiscard]] Body::Name singles(Body& body, const Body::Name& value, std::size_t input);
/// Scores after post_transform `how`, row by row.
[[nodiscard]] Body::Name transformed(Body& body, const Body::Name& scores, const std::string& how);
/// One score for two classes as a score for each, after post_transform `how`. Probabilities add up to 1.
[[nodiscard]] Body::Name two_columns(Body& body, const Body::Name& score, bool is_probability, const std::string& how);
/// The scores of a regressor after post_transform `how`.
[[nodiscard]] Body::Name regressed(Body& body, const Body::Name& scores, int64_t targets, const std::string& how);

/// The labels of a classifier, integers (in the attribute of this name) or strings.
class ClassLabels {
 public:
  ClassLabels(Body& body, const char* integers);
  [[nodiscard]] int64_t count() const noexcept { return count_; }
  [[nodiscard]] Body::Name of_largest(const Body::Name& scores);
  /// Of two labels, the first or the second for a positive score.
  [[nodiscard]] Body::Name of_sign(const Body::Name& score, bool is_first_positive);

 private:
  [[nodiscard]] Body::Name at(const Body::Name& indices);
  Body& body_;
  Body::Name labels_;
  int64_t count_ = 0;
};

// Helpers that bodies of attention operators share.

[[nodiscard]] int64_t head_count(const Body& body, const char* name = "num_heads");
[[nodiscard]] bool has_flag(const Body& body, const char* name);
[[nodiscard]] Body::Name unsqueezed(Body& body, const Body::Name& value, const std::vector<int64_t>& axes);
/// Dim number `axis` as a vector of one.
[[nodiscard]] Body::Name dim_of(Body& body, const Body::Name& value, int64_t axis);
/// 0, 1, 2 … below `count`, a vector of one.
[[nodiscard]] Body::Name positions_below(Body& body, const Body::Name& count);
/// [batch, length, heads · size] to [batch, heads, length, size], and back.
[[nodiscard]] Body::Name by_heads(Body& body, const Body::Name& value, int64_t heads);
[[nodiscard]] Body::Name put_together(Body& body, const Body::Name& value);

/// The real numbers of input `value`, by the scale and the zero point that follow it (the zero point may be absent).
[[nodiscard]] Body::Name dequantized(Body& body, std::size_t value);
/// `real` quantized by the scale in input `scale` and the zero point after it; if that is absent, by zero of the type of input `like`.
[[nodiscard]] Body::Name quantized(Body& body, const Body::Name& real, std::size_t scale, std::size_t like);
/// An image of `rank` dims with its channels moved from the last axis to the one after the batch; and back.
[[nodiscard]] Body::Name channels_to_front(Body& body, const Body::Name& value, std::size_t rank);
[[nodiscard]] Body::Name channels_to_back(Body& body, const Body::Name& value, std::size_t rank);

}  // namespace relayout::bodies

namespace relayout {

/// The numbers that the 16 codes of MatMulBnb4 represent: FP4 (`quant_type` 0) or NF4 (1). Empty for any other type.
[[nodiscard]] std::vector<float> bnb4_codes(int64_t quant_type);

}  // namespace relayout
