// Attributes that no kernel or body reads, and why; the type in which an attribute lets an operator compute (accuracy_level, stash_type).

#include "ops/op_attributes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "base/positions.h"
#include "model/domains.h"
#include "relayout/graph.h"
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

}  // namespace relayout
