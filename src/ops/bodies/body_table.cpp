// Lists ONNX Runtime's operators with their facts and the functions that write their bodies.
// They are specified by ONNX Runtime's list of contributed operators (version 1.31) under the same name. Where that is ambiguous, the files
// that write bodies name the deciding source.

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>

#include "model/check.h"
#include "model/node.h"
#include "ops/bodies/bodies.h"
#include "ops/body.h"
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
    {.name = "QuantizedStateLSTM",
     .since = 1,
     .reviewed = 1,
     .layout = barrier,
     .traits = same_type | kProduct | quantized,
     .infer = kernels::infer_recurrent,
     .compute = kernels::recurrent,
     .domain = Body::kOwnDomain},
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
