// States which attributes no kernel or body reads, and why, with the defaults of those that are absent.
#include "ops/op_attributes.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <set>
#include <tuple>
#include <variant>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr auto kUnread = std::to_array<UnreadAttribute>({
    {"", "", "consumed_inputs", Unread::hint},  // opset 1: operands whose memory may be overwritten
    {"", "Attention", "softmax_precision", Unread::inner},
    {"", "BatchNormalization", "is_test", Unread::training},
    {"", "Dropout", "is_test", Unread::training},
    {"", "Dropout", "ratio", Unread::training},  // before opset 12, where training is no operand
    {"", "GRU", "output_sequence", Unread::hint},
    {"", "Gemm", "broadcast", Unread::hint},  // the dims of C show it
    {"", "GroupNormalization", "stash_type", Unread::inner},
    {"", "LSTM", "output_sequence", Unread::hint},
    {"", "LinearAttention", "chunk_size", Unread::hint},
    {"", "Optional", "type", Unread::hint},  // of an optional without element
    {"", "RNN", "output_sequence", Unread::hint},
    {"", "Range", "stash_type", Unread::inner},
    {"", "TopK", "sorted", Unread::order},
    {kMlDomain, "LinearClassifier", "multi_class", Unread::ignored},
    {kMlDomain, "", "nodes_hitrates", Unread::hint},
    {kMlDomain, "", "nodes_hitrates_as_tensor", Unread::hint},
    {kMicrosoftDomain, "Attention", "rotary_embedding_dim", Unread::hint},  // do_rotary is refused
    {kMicrosoftDomain, "BiasSoftmax", "is_inner_broadcast", Unread::hint},  // the dims of the bias show it
    {kMicrosoftDomain, "EmbedLayerNormalization", "mask_index_type", Unread::ignored},
    {kMicrosoftDomain, "GroupQueryAttention", "k_norm_epsilon", Unread::hint},  // inputs of norms and a quantized cache are refused
    {kMicrosoftDomain, "GroupQueryAttention", "kv_cache_bit_width", Unread::hint},
    {kMicrosoftDomain, "GroupQueryAttention", "q_norm_epsilon", Unread::hint},
    {kMicrosoftDomain, "GroupQueryAttention", "qk_norm_epsilon", Unread::hint},
    {kMicrosoftDomain, "MatMulBnb4", "training_mode", Unread::training},
    {kMicrosoftDomain, "MatMulNBits", "accuracy_level", Unread::inner},
    {kMicrosoftDomain, "RotaryEmbedding", "scale", Unread::ignored},
});

/// Of BatchNormalization, `momentum` moves statistics that are results of their own.
constexpr auto kConditional = std::to_array<ConditionalAttribute>({
    {"BatchNormalization", "momentum", {}, {}, {}},
    {"Gemm", "beta", {}, {}, {}, 2},
    {"MaxPool", "storage_order", {}, {}, {}},  // of the indices
    {"Resize", "cubic_coeff_a", "mode", "nearest", "cubic"},
    {"Resize", "extrapolation_value", "coordinate_transformation_mode", "half_pixel", "tf_crop_and_resize"},
    {"Resize", "nearest_mode", "mode", "nearest", "nearest"},
});

/// onnxruntime/core/providers/cpu/activation/activations.h.
struct Activation {
  std::string_view name;
  std::array<std::string_view, 2> parameters;  ///< empty: none
};
constexpr auto kActivations = std::to_array<Activation>({
    {"Celu", {"alpha"}},
    {"Elu", {"alpha"}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"LeakyRelu", {"alpha"}},
    {"Relu", {}},
    {"Selu", {"alpha", "gamma"}},
    {"Sigmoid", {}},
    {"Softplus", {}},
    {"Softsign", {}},
    {"Tanh", {}},
    {"ThresholdedRelu", {"alpha"}},
});

/// Attributes that are numbers of element types.
constexpr auto kInnerTypes = std::to_array<std::string_view>({"precision", "softmax_precision", "stash_type"});

bool is_level(const Node& node, std::string_view attribute) {
  return node.domain() == kMicrosoftDomain && attribute == "accuracy_level";
}

/// Levels of accuracy_level: 0 is none, 1 is f32.
DataType type_of_level(int64_t level) {
  constexpr std::array kTypes{DataType::undefined, DataType::undefined, DataType::float16, DataType::bfloat16, DataType::int8};
  return level >= 0 && level < std::ssize(kTypes) ? element_at(kTypes, level) : DataType::undefined;
}

/// The element type of this number if it is one of fewer bits than f32.
DataType coarse_type(int64_t number) {
  const DataTypeTraits* const found = find_traits(static_cast<int>(number));
  return found != nullptr && found->is_float && found->bits < 32 ? found->type : DataType::undefined;
}

}  // namespace

std::span<const UnreadAttribute> unread_attributes() {
  return kUnread;
}

std::span<const ConditionalAttribute> conditional_attributes() {
  return kConditional;
}

std::optional<std::vector<std::string_view>> activation_parameters(std::string_view activation) {
  const auto* const known = std::ranges::find(kActivations, activation, &Activation::name);
  if (known == kActivations.end()) return std::nullopt;
  std::vector<std::string_view> out(known->parameters.begin(), known->parameters.end());
  std::erase(out, std::string_view());
  return out;
}

bool gives_inner_type(const Node& node, std::string_view attribute) {
  if (is_level(node, attribute)) return true;
  return node.domain().empty() && std::ranges::find(kInnerTypes, attribute) != kInnerTypes.end();
}

DataType inner_type(const Node& node) {
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    if (!gives_inner_type(node, attribute.name()) || attribute.type() != onnx::AttributeProto_AttributeType_INT) continue;
    const DataType type = is_level(node, attribute.name()) ? type_of_level(attribute.i()) : coarse_type(attribute.i());
    if (type != DataType::undefined) return type;
  }
  return DataType::undefined;
}

bool computes_in_float32(const Node& node) {
  const bool has_type =
      node.is("LayerNormalization") || node.is("RMSNormalization") || (node.is("GroupNormalization") && node.opset() >= 21);
  if (!has_type || !node.domain().empty()) return false;
  const Attributes attributes(node);
  return !attributes.has_reference() && attributes.integer("stash_type", 1) == 1;
}

// Defaults of operators that the linked ONNX may not know: of ONNX Runtime's, from its schemas and their text, and of newer operator sets.
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
    {"SkipLayerNormalization", "epsilon", 1e-12F},
    {"SkipSimplifiedLayerNormalization", "epsilon", 1e-12F},
});

/// Attributes of the default domain from opset 23 on, sorted likewise.
constexpr auto kNewDefaults = std::to_array<Default>({
    {"Attention", "is_causal", int64_t{0}},
    {"Attention", "left_window_size", int64_t{-1}},
    {"Attention", "qk_matmul_output_mode", int64_t{0}},
    {"Attention", "right_window_size", int64_t{-1}},
    {"Attention", "softcap", 0.0F},
    {"Cast", "round_mode", std::string_view("up")},
    {"CastLike", "round_mode", std::string_view("up")},
    {"CausalConvWithState", "activation", std::string_view("none")},
    {"CumProd", "exclusive", int64_t{0}},
    {"CumProd", "reverse", int64_t{0}},
    {"DequantizeLinear", "output_dtype", int64_t{0}},
    {"LinearAttention", "chunk_size", int64_t{64}},
    {"LinearAttention", "scale", 0.0F},
    {"LinearAttention", "update_rule", std::string_view("gated_delta")},
    {"QuantizeLinear", "precision", int64_t{0}},
    {"RMSNormalization", "axis", int64_t{-1}},
    {"RMSNormalization", "epsilon", 1e-5F},
    {"RMSNormalization", "stash_type", int64_t{1}},
    {"Range", "stash_type", int64_t{1}},
    {"RotaryEmbedding", "interleaved", int64_t{0}},
    {"RotaryEmbedding", "rotary_embedding_dim", int64_t{0}},
    {"SimplifiedLayerNormalization", "axis", int64_t{-1}},  // of ONNX Runtime
    {"SimplifiedLayerNormalization", "epsilon", 1e-5F},
    {"SimplifiedLayerNormalization", "stash_type", int64_t{1}},
    {"SpaceToDepth", "mode", std::string_view("DCR")},
    {"SwiGLU", "alpha", 1.0F},
    {"Swish", "alpha", 1.0F},
    {"TensorScatter", "axis", int64_t{-2}},
    {"TensorScatter", "mode", std::string_view("linear")},
});

constexpr bool is_sorted(const auto& table) {
  return std::ranges::adjacent_find(table, std::ranges::greater_equal(), operator_and_attribute) == table.end();
}
static_assert(is_sorted(kDefaults) && is_sorted(kNewDefaults), "each table is sorted, each attribute once");

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

template <const auto& kTable>
const onnx::AttributeProto* find_default(std::string_view op_type, std::string_view attribute) {
  static const std::vector<onnx::AttributeProto> messages = [] {
    std::vector<onnx::AttributeProto> out;
    for (const Default& entry : kTable) out.push_back(message_of(entry));
    return out;
  }();
  const auto* const at = std::ranges::lower_bound(kTable, std::tuple(op_type, attribute), {}, operator_and_attribute);
  const bool is_known = at != kTable.end() && at->op_type == op_type && at->attribute == attribute;
  return is_known ? &messages[as_size(at - kTable.begin())] : nullptr;
}

}  // namespace

const onnx::AttributeProto* default_beyond_schemas(std::string_view domain, std::string_view op_type, std::string_view attribute) {
  if (domain == kMicrosoftDomain) return find_default<kDefaults>(op_type, attribute);
  return domain.empty() ? find_default<kNewDefaults>(op_type, attribute) : nullptr;
}

// Nodes without a definition in their opset.
namespace {

using Names = std::unordered_set<std::string>;

std::string qualified_name(std::string_view domain, std::string_view op_type) {
  return (domain.empty() ? "ai.onnx" : std::string(domain)) + ":" + std::string(op_type);
}

/// The first use of the registry of schemas takes 9 ms and 6 MiB: only for operators that the op table does not have.
bool is_known_to_onnx(std::string_view domain, const std::string& op_type) {
  return onnx::OpSchemaRegistry::Schema(op_type, std::string(domain)) != nullptr;
}

}  // namespace

std::vector<std::string> unknown_operators(const Model& model) {
  Names functions, seen;
  for (const auto& function : model.functions()) {
    functions.insert(qualified_name(function->function()->domain(), function->function()->name()));
  }
  std::set<std::string> unknown;
  for_each_node(model, [&](const Node& node) {
    const std::string_view domain = node.domain();
    if (find_op(node) != nullptr) return;
    const std::string name = qualified_name(domain, node.op_type());
    if (!seen.insert(name).second || functions.contains(name)) return;  // each name is examined once
    if (!is_known_to_onnx(domain, node.op_type())) unknown.insert(name);
  });
  return {unknown.begin(), unknown.end()};
}

std::optional<std::string> other_version(const Node& node) {
  const std::string domain(node.domain());
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto range = ranges.find(domain);
  // The linked library does not know attributes of later versions.
  if (node.opset() <= 0 || range == ranges.end() || node.opset() > range->second.second) return std::nullopt;
  const auto* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(node.opset()), domain);
  if (schema == nullptr) return std::nullopt;
  const std::string where = " in opset " + std::to_string(node.opset());
  for (const auto& attribute : node.message().attribute()) {
    const std::string& name = attribute.name();
    if (!name.starts_with("__") && !schema->attributes().contains(name)) return "no attribute " + quote(name) + where;
  }
  const auto too_many = [&](std::size_t count, int most, const std::string& what) -> std::optional<std::string> {
    if (count <= as_size(most)) return std::nullopt;
    return "at most " + counted(most, what) + where;
  };
  if (auto why = too_many(node.inputs().size(), schema->max_input(), "input")) return why;
  return too_many(node.outputs().size(), schema->max_output(), "output");
}

}  // namespace relayout
