// Defaults of attributes of the operators that ONNX Runtime adds: those of its schemas, and those that only the schemas' text states.

#include "ops/microsoft_defaults.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/positions.h"
#include "model/domains.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

struct Default {
  std::string_view op_type, attribute;
  std::variant<int64_t, float, std::string_view> value;
};

constexpr auto operator_and_attribute(const Default& entry) {
  return std::tuple(entry.op_type, entry.attribute);
}

/// Operators that have a body (ops/bodies), sorted by operator and attribute. Defaults that follow from a node's operands are not here.
constexpr auto kDefaults = std::to_array<Default>({
    {"Attention", "do_rotary", int64_t{0}},
    {"Attention", "mask_filter_value", -10000.0F},
    {"Attention", "past_present_share_buffer", int64_t{0}},
    {"Attention", "unidirectional", int64_t{0}},
    {"BiasSoftmax", "axis", int64_t{1}},
    {"DequantizeLinear", "axis", int64_t{1}},
    {"DynamicQuantizeLSTM", "direction", std::string_view("forward")},
    {"DynamicQuantizeLSTM", "input_forget", int64_t{0}},
    {"EmbedLayerNormalization", "epsilon", 1e-12F},
    {"FusedConv", "activation", std::string_view("")},
    {"FusedConv", "auto_pad", std::string_view("NOTSET")},
    {"FusedConv", "group", int64_t{1}},
    {"FusedGemm", "alpha", 1.0F},
    {"FusedGemm", "beta", 1.0F},
    {"FusedGemm", "transA", int64_t{0}},
    {"FusedGemm", "transB", int64_t{0}},
    {"FusedMatMul", "alpha", 1.0F},
    {"FusedMatMul", "transA", int64_t{0}},
    {"FusedMatMul", "transB", int64_t{0}},
    {"FusedMatMul", "transBatchA", int64_t{0}},
    {"FusedMatMul", "transBatchB", int64_t{0}},
    {"GatherBlockQuantized", "bits", int64_t{4}},
    {"GatherBlockQuantized", "block_size", int64_t{128}},
    {"GatherBlockQuantized", "gather_axis", int64_t{0}},
    {"GatherBlockQuantized", "quantize_axis", int64_t{1}},
    {"GroupQueryAttention", "causal", int64_t{1}},
    {"GroupQueryAttention", "do_rotary", int64_t{0}},
    {"GroupQueryAttention", "k_quant_type", std::string_view("NONE")},
    {"GroupQueryAttention", "local_window_size", int64_t{-1}},
    {"GroupQueryAttention", "qk_norm_epsilon", 1e-6F},
    {"GroupQueryAttention", "qk_output", int64_t{0}},
    {"GroupQueryAttention", "rotary_interleaved", int64_t{0}},
    {"GroupQueryAttention", "sliding_window_cache", int64_t{0}},
    {"GroupQueryAttention", "smooth_softmax", int64_t{-1}},
    {"GroupQueryAttention", "softcap", 0.0F},
    {"GroupQueryAttention", "v_quant_type", std::string_view("NONE")},
    {"MatMulBnb4", "training_mode", int64_t{0}},
    {"MatMulBnb4", "transB", int64_t{1}},
    {"MatMulNBits", "accuracy_level", int64_t{0}},
    {"MatMulNBits", "bits", int64_t{4}},
    {"MatMulNBits", "weight_prepacked", int64_t{0}},
    {"MultiHeadAttention", "mask_filter_value", -10000.0F},
    {"MultiHeadAttention", "unidirectional", int64_t{0}},
    {"NhwcConv", "auto_pad", std::string_view("NOTSET")},
    {"NhwcConv", "group", int64_t{1}},
    {"NhwcFusedConv", "activation", std::string_view("")},
    {"NhwcFusedConv", "auto_pad", std::string_view("NOTSET")},
    {"NhwcFusedConv", "group", int64_t{1}},
    {"NhwcMaxPool", "auto_pad", std::string_view("NOTSET")},
    {"NhwcMaxPool", "ceil_mode", int64_t{0}},
    {"QAttention", "do_rotary", int64_t{0}},
    {"QAttention", "mask_filter_value", -10000.0F},
    {"QAttention", "past_present_share_buffer", int64_t{0}},
    {"QAttention", "unidirectional", int64_t{0}},
    {"QGemm", "alpha", 1.0F},
    {"QGemm", "transA", int64_t{0}},
    {"QGemm", "transB", int64_t{0}},
    {"QLinearAveragePool", "auto_pad", std::string_view("NOTSET")},
    {"QLinearAveragePool", "ceil_mode", int64_t{0}},
    {"QLinearAveragePool", "channels_last", int64_t{0}},
    {"QLinearAveragePool", "count_include_pad", int64_t{0}},
    {"QLinearConv", "auto_pad", std::string_view("NOTSET")},
    {"QLinearConv", "channels_last", int64_t{0}},
    {"QLinearConv", "group", int64_t{1}},
    {"QLinearGlobalAveragePool", "channels_last", int64_t{0}},
    {"QLinearLeakyRelu", "alpha", 0.01F},
    {"QLinearSoftmax", "axis", int64_t{-1}},
    {"QuantizeLinear", "axis", int64_t{1}},
    {"QuickGelu", "alpha", 1.702F},
    {"RotaryEmbedding", "interleaved", int64_t{0}},
    {"RotaryEmbedding", "is_packed_batching", int64_t{0}},
    {"RotaryEmbedding", "num_heads", int64_t{0}},
    {"RotaryEmbedding", "rotary_embedding_dim", int64_t{0}},
    {"RotaryEmbedding", "scale", 1.0F},
    {"SimplifiedLayerNormalization", "axis", int64_t{-1}},
    {"SimplifiedLayerNormalization", "epsilon", 1e-5F},
    {"SimplifiedLayerNormalization", "stash_type", int64_t{1}},
    {"SkipLayerNormalization", "epsilon", 1e-12F},
    {"SkipSimplifiedLayerNormalization", "epsilon", 1e-12F},
});
static_assert(std::ranges::adjacent_find(kDefaults, std::ranges::greater_equal(), operator_and_attribute) == kDefaults.end(),
              "the table is sorted, each attribute once");

onnx::AttributeProto message_of(const Default& entry) {
  onnx::AttributeProto out;
  out.set_name(std::string(entry.attribute));
  if (const auto* const integer = std::get_if<int64_t>(&entry.value)) {
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(*integer);
  } else if (const auto* const real = std::get_if<float>(&entry.value)) {
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(*real);
  } else {
    out.set_type(onnx::AttributeProto::STRING);
    out.set_s(std::string(std::get<std::string_view>(entry.value)));
  }
  return out;
}

std::vector<onnx::AttributeProto> all_messages() {
  std::vector<onnx::AttributeProto> out;
  for (const Default& entry : kDefaults) out.push_back(message_of(entry));
  return out;
}

}  // namespace

const onnx::AttributeProto* microsoft_default(const Node& node, std::string_view attribute) {
  static const std::vector<onnx::AttributeProto> messages = all_messages();
  const std::string_view op_type = node.op_type();
  // ONNX Runtime has this one in the default domain.
  if (node.domain() != kMicrosoftDomain && !(node.domain().empty() && op_type == "SimplifiedLayerNormalization")) return nullptr;
  const auto* const at = std::ranges::lower_bound(kDefaults, std::tuple(op_type, attribute), {}, operator_and_attribute);
  const bool is_known = at != kDefaults.end() && at->op_type == op_type && at->attribute == attribute;
  return is_known ? &messages[as_size(at - kDefaults.begin())] : nullptr;
}

}  // namespace relayout
