// Lists the operators of other domains with their facts and the functions that write their bodies.

#include <tuple>

#include "model/check.h"
#include "model/node.h"
#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/op.h"

namespace relayout {
namespace {

using enum LayoutRule;
using enum Trait;
using namespace bodies;

constexpr Traits kElementwise = same_dims | same_type;
constexpr Traits kProduct = multiplies | costly;
constexpr Traits kDecision = jumps | chooses;
constexpr Traits kRequantized = same_type | quantized | kDecision;
constexpr Traits kNone = Traits::none();
constexpr Traits kTrees = jumps | costly | piecewise;
constexpr Traits convolves_with(std::size_t input) {
  return kProduct | Traits::convolves_with(input);
}

constexpr Op of(std::string_view domain, int reviewed, std::string_view name, LayoutRule layout, Traits traits, WriteBody body) {
  return {.name = name,
          .since = 1,
          .reviewed = reviewed,
          .layout = layout,
          .traits = traits,
          .infer = infer_composed,
          .compute = compute_composed,
          .domain = domain,
          .body = body};
}

/// Operators of classical machine learning, from version `since` of their domain.
constexpr Op ml(std::string_view name, int since, Traits traits, WriteBody body) {
  Op out = of(kMlDomain, 5, name, barrier, traits, body);
  out.since = since;
  return out;
}

/// An operator with a kernel of its own.
constexpr Op own(std::string_view domain, int reviewed, std::string_view name, Traits traits, Infer infer, Compute compute) {
  Op out = of(domain, reviewed, name, barrier, traits, nullptr);
  out.infer = infer;
  out.compute = compute;
  return out;
}
constexpr Op ml(std::string_view name, Traits traits, Infer infer, Compute compute) {
  return own(kMlDomain, 5, name, traits, infer, compute);
}

/// com.microsoft has version 1 only.
constexpr Op microsoft(std::string_view name, LayoutRule layout, Traits traits, WriteBody body) {
  return of(kMicrosoftDomain, 1, name, layout, traits, body);
}

/// ONNX Runtime registers these at every opset of the default domain.
constexpr Op standard(std::string_view name, LayoutRule layout, Traits traits, WriteBody body) {
  return of("", kReviewedOpset, name, layout, traits, body);
}

/// One line per operator, sorted by domain and name. Domain `relayout` holds kernels that only bodies use.
constexpr auto kTable = std::to_array<Op>({
    standard("SimplifiedLayerNormalization", barrier, same_dims, simplified_layer_normalization),
    ml("ArrayFeatureExtractor", 1, same_type | Traits::moves(0), array_feature_extractor),
    ml("Binarizer", kElementwise | elementwise | jumps | piecewise | exact, kernels::infer_features, kernels::binarizer),
    ml("CategoryMapper", same_dims | elementwise, kernels::infer_encoder, kernels::encoder),
    ml("DictVectorizer", kNone, kernels::infer_dict_vectorizer, kernels::dict_vectorizer),
    ml("FeatureVectorizer", 1, kNone, feature_vectorizer),
    ml("Imputer", kElementwise | jumps | piecewise | exact, kernels::infer_features, kernels::imputer),
    ml("LabelEncoder", same_dims | elementwise | jumps, kernels::infer_encoder, kernels::encoder),
    ml("LinearClassifier", 1, kProduct | kDecision, linear_classifier),
    ml("LinearRegressor", 1, kProduct, linear_regressor),
    ml("Normalizer", 1, same_dims, normalizer),
    ml("OneHotEncoder", exact | jumps, kernels::infer_one_hot_encoder, kernels::one_hot_encoder),
    ml("SVMClassifier", 1, kProduct | kDecision, svm_classifier),
    ml("SVMRegressor", 1, kProduct | kDecision, svm_regressor),
    ml("Scaler", 1, same_dims, scaler),
    ml("TreeEnsemble", 5, kTrees, tree_ensemble),
    ml("TreeEnsembleClassifier", 1, kTrees | chooses, tree_ensemble_classifier),
    ml("TreeEnsembleRegressor", 1, kTrees, tree_ensemble_regressor),
    ml("ZipMap", exact, kernels::infer_zip_map, kernels::zip_map),
    microsoft("Attention", barrier, same_type | kProduct, attention),
    microsoft("BiasAdd", barrier, kElementwise, bias_add),
    microsoft("BiasGelu", agnostic, same_type, bias_gelu),
    microsoft("BiasSoftmax", barrier, kElementwise, bias_softmax),
    microsoft("DequantizeLinear", barrier, same_dims | quantizes, dequantize_linear),
    microsoft("DynamicQuantizeLSTM", barrier, same_type | kProduct | quantized, dynamic_quantize_lstm),
    microsoft("DynamicQuantizeMatMul", barrier, same_type | kProduct | quantized | kDecision, dynamic_quantize_matmul),
    microsoft("EmbedLayerNormalization", barrier, kNone, embed_layer_normalization),
    microsoft("FastGelu", agnostic, kElementwise, fast_gelu),
    microsoft("FusedConv", wants, same_type | convolves_with(1), fused_conv),
    microsoft("FusedGemm", barrier, same_type | kProduct, fused_gemm),
    microsoft("FusedMatMul", barrier, same_type | kProduct, fused_matmul),
    microsoft("GatherBlockQuantized", barrier, kNone, gather_block_quantized),
    microsoft("Gelu", agnostic, kElementwise, gelu),
    microsoft("GroupQueryAttention", barrier, same_type | kProduct, group_query_attention),
    microsoft("MatMulBnb4", barrier, same_type | kProduct, matmul_bnb4),
    microsoft("MatMulIntegerToFloat", barrier, kProduct | quantized, matmul_integer_to_float),
    microsoft("MatMulNBits", barrier, same_type | kProduct, matmul_nbits),
    microsoft("MultiHeadAttention", barrier, same_type | kProduct, multi_head_attention),
    microsoft("NhwcConv", barrier, same_type | convolves_with(1), nhwc_conv),
    microsoft("NhwcFusedConv", barrier, same_type | convolves_with(1), nhwc_conv),
    microsoft("NhwcMaxPool", barrier, same_type, nhwc_max_pool),
    microsoft("QAttention", barrier, kProduct | quantized, qattention),
    microsoft("QGemm", barrier, kProduct | quantized | kDecision, qgemm),
    microsoft("QLinearAdd", agnostic, kRequantized, qlinear_add),
    microsoft("QLinearAveragePool", barrier, kRequantized, qlinear_average_pool),
    microsoft("QLinearConcat", barrier, quantized | kDecision, qlinear_concat),
    microsoft("QLinearConv", barrier, quantized | kDecision | convolves_with(3), qlinear_conv),
    microsoft("QLinearGlobalAveragePool", barrier, kRequantized, qlinear_global_average_pool),
    microsoft("QLinearLeakyRelu", agnostic, kRequantized | same_dims, qlinear_leaky_relu),
    microsoft("QLinearMul", agnostic, kRequantized, qlinear_mul),
    microsoft("QLinearReduceMean", barrier, kRequantized, qlinear_reduce_mean),
    microsoft("QLinearSigmoid", agnostic, kRequantized | same_dims, qlinear_sigmoid),
    microsoft("QLinearSoftmax", barrier, kRequantized | same_dims, qlinear_softmax),
    microsoft("QLinearWhere", barrier, quantized | kDecision, qlinear_where),
    microsoft("QuantizeLinear", barrier, same_dims | quantizes | kDecision, quantize_linear),
    microsoft("QuickGelu", agnostic, kElementwise, quick_gelu),
    microsoft("RotaryEmbedding", barrier, kElementwise, rotary_embedding),
    microsoft("SkipLayerNormalization", barrier, kElementwise, skip_layer_normalization),
    microsoft("SkipSimplifiedLayerNormalization", barrier, kElementwise, skip_simplified_layer_normalization),
    own(Body::kOwnDomain, 1, "NumberedTrees", kTrees, kernels::infer_trees, kernels::numbered_trees),
    own(Body::kOwnDomain, 1, "PairwiseProbabilities", same_type | costly, kernels::infer_pairwise_probabilities,
        kernels::pairwise_probabilities),
    own(Body::kOwnDomain, 1, "PositionedTrees", kTrees, kernels::infer_trees, kernels::positioned_trees),
    own(Body::kOwnDomain, 1, "QuantizedStateLSTM", same_type | kProduct | quantized, kernels::infer_recurrent, kernels::recurrent),
    own(Body::kOwnDomain, 1, "SquaredDistances", same_type | costly, kernels::infer_squared_distances, kernels::squared_distances),
});

constexpr auto domain_and_name(const Op& op) {
  return std::tuple(op.domain, op.name);
}
static_assert(std::ranges::adjacent_find(kTable, std::ranges::greater_equal(), domain_and_name) == kTable.end(),
              "the table is sorted by domain and name, each once");

}  // namespace

std::span<const Op> composed_table() {
  return kTable;
}

}  // namespace relayout
