// Attributes that equal their absence: strides, pads and kernel_shape of a window, the scale of an attention, activations of a cell,
// permutations and axes.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "ops/op.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "proof/versions.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

bool are(const onnx::AttributeProto& attribute, int64_t wanted) {
  return std::ranges::all_of(attribute.ints(), [&](int64_t value) { return value == wanted; });
}

/// Whether kernel_shape equals the weight's dims after the channels.
bool is_kernel_of_weight(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Ref weight = side.operand(output, traits_of(*output.value->producer()).convolution_weight().value());
  const auto contents = weight ? side.contents(weight) : std::nullopt;
  return contents && contents->dims.size() >= 2 &&
         std::ranges::equal(contents->dims.begin() + 2, contents->dims.end(), attribute.ints().begin(), attribute.ints().end());
}

bool is_implied_by_window(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_convolution = traits_of(node).convolution_weight().has_value();
  if (!is_convolution && !has_trait(node, Trait::pools) && node.op_type() != "NhwcMaxPool" && node.op_type() != "QLinearAveragePool") {
    return false;
  }
  const std::string& name = attribute.name();
  if (name == "strides" || name == "dilations") return are(attribute, 1);
  if (name == "pads" || name == "output_padding") return are(attribute, 0);
  return name == "kernel_shape" && is_convolution && is_kernel_of_weight(side, output, attribute);
}

bool is_reversal(const onnx::AttributeProto& permutation) {
  for (int i = 0; i < permutation.ints_size(); ++i) {
    if (permutation.ints(i) != permutation.ints_size() - 1 - i) return false;
  }
  return permutation.ints_size() > 0;
}

/// Whether one scale holds for the whole tensor, so that the axis has no effect.
bool is_scaled_whole(Side& side, Ref output) {
  const Ref scale = side.operand(output, 1);
  const auto contents = scale ? side.contents(scale) : std::nullopt;
  return contents && contents->dims.empty();
}

/// The dim of an operand; −1 if unknown.
int64_t dim_of(Side& side, Ref output, std::size_t input, std::size_t axis) {
  const Ref operand = side.operand(output, input);
  const auto dims = operand ? Shapes(side).of(operand) : std::nullopt;
  return dims && axis < dims->size() ? (*dims)[axis] : -1;
}

/// The size of an attention's head, from its operands; −1 if unknown.
int64_t head_size(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  const bool is_microsoft = node.domain() == kMicrosoftDomain;
  int64_t width = -1, heads = attributes.integer(is_microsoft ? "num_heads" : "q_num_heads", 0);
  if (is_microsoft && (node.op_type() == "Attention" || node.op_type() == "QAttention")) {
    // Queries, keys and values are adjacent.
    const std::vector<int64_t> parts = attributes.integers("qkv_hidden_sizes");
    const int64_t all = dim_of(side, output, 1, 1);
    width = !parts.empty() ? parts[0] : all % 3 == 0 ? all / 3 : -1;
  } else {
    const Ref query = side.operand(output, 0);
    const auto dims = query ? Shapes(side).of(query) : std::nullopt;
    if (!dims) return -1;
    if (dims->size() != 3) return dims->size() > 3 ? dims->back() : -1;  // by heads already
    if (node.op_type() == "GroupQueryAttention" && !side.operand(output, 1)) heads += 2 * attributes.integer("kv_num_heads", 0);
    width = dims->back();
  }
  return !attributes.is_open() && heads > 0 && width > 0 && width % heads == 0 ? width / heads : -1;
}

/// Whether the scale of an attention is 1 / √(size of a head), rounded in any way. ONNX Runtime reads 0 as that.
bool is_scale_of_heads(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  if (attribute.f() == 0) return node.domain() == kMicrosoftDomain;
  const int64_t size = head_size(side, output);
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  return size > 0 &&
         std::abs(static_cast<double>(attribute.f()) - scale) <= scale * static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// Whether the activations of each direction are those that a recurrent operator has without the attribute.
bool are_usual_activations(const Node& node, const onnx::AttributeProto& attribute) {
  using Names = std::vector<std::string_view>;
  const Names usual = node.op_type() == "RNN"   ? Names{"Tanh"}
                      : node.op_type() == "GRU" ? Names{"Sigmoid", "Tanh"}
                                                : Names{"Sigmoid", "Tanh", "Tanh"};
  const onnx::AttributeProto* const direction = node.attribute("direction");
  const int count = static_cast<int>(usual.size()) * (direction != nullptr && direction->s() == "bidirectional" ? 2 : 1);
  // The default that ONNX writes down for a RNN has a name too many for one direction.
  const bool is_as_written = node.op_type() == "RNN" && attribute.strings_size() == 2;
  if (attribute.strings_size() != count && !is_as_written) return false;
  for (int i = 0; i < attribute.strings_size(); ++i) {
    if (attribute.strings(i) != usual[static_cast<std::size_t>(i) % usual.size()]) return false;
  }
  return true;
}

bool is_implied_by_cell(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_quantized = node.op_type() == "DynamicQuantizeLSTM" && node.domain() == kMicrosoftDomain;
  if (!is_quantized && !node.is("LSTM") && !node.is("GRU") && !node.is("RNN")) return false;
  // The recurrence weight is [directions, gates · hidden, hidden], transposed for the quantized operator.
  if (attribute.name() == "hidden_size") return attribute.i() > 0 && attribute.i() == dim_of(side, output, 2, is_quantized ? 1 : 2);
  return attribute.name() == "activations" && are_usual_activations(node, attribute);
}

/// Whether the activation of a product has no such parameter.
bool is_unused_parameter(const Node& node, const Call* call, std::string_view name) {
  constexpr auto kPlain = std::to_array<std::string_view>({"", "Relu", "Sigmoid", "Silu", "Softplus", "Softsign", "Tanh"});
  const std::string activation = AttributeReader(node, call).text("activation", "");
  return node.domain() == kMicrosoftDomain && name.starts_with("activation_") && name != "activation" &&
         node.op_type().starts_with("Fused") && std::ranges::find(kPlain, activation) != kPlain.end();
}

}  // namespace

bool is_implied(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_microsoft = node.domain() == kMicrosoftDomain;
  if ((!node.domain().empty() && !is_microsoft) || !attribute.ref_attr_name().empty()) return false;
  const std::string& name = attribute.name();
  if (is_implied_by_window(side, output, attribute) || is_implied_by_cell(side, output, attribute)) return true;
  if (node.is("Transpose") && name == "perm") return is_reversal(attribute);
  if (node.is("Split") && name == "num_outputs") return attribute.i() == static_cast<int64_t>(node.outputs().size());
  if (has_trait(node, Trait::quantizes) && name == "axis") return is_scaled_whole(side, output);
  if (name == "scale" && node.op_type().ends_with("Attention")) return is_scale_of_heads(side, output, attribute);
  return is_unused_parameter(node, output.call, name);
}

}  // namespace relayout::proof
