// Decides whether nodes of two opsets compute the same, whether attribute and operand state the same argument, and which attributes equal
// their absence (strides, pads, kernel_shape, perm). Tools often move models to newer operator sets and write defaults out; neither changes
// the computation.

#include "proof/versions.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/op.h"
#include "ops/op_history.h"
#include "ops/traits.h"
#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout::proof {
namespace {

const onnx::OpSchema* schema_at(const Node& node, int64_t opset) {
  if (opset <= 0 || opset > std::numeric_limits<int>::max()) return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), std::string(node.domain()));
}

bool is_written(const Node& node, const Call* call, std::string_view name) {
  const onnx::AttributeProto* const written = AttributeReader(node, call).find(name);
  if (written == nullptr) return false;
  const AttributeDefault known = attribute_default(node, std::string(name));
  return known.value == nullptr || written->i() != known.value->i() || written->s() != known.value->s();
}

bool are(const onnx::AttributeProto& attribute, int64_t wanted) {
  return std::ranges::all_of(attribute.ints(), [&](int64_t value) { return value == wanted; });
}

/// Whether kernel_shape equals the weight's dims after the channels.
bool is_kernel_of_weight(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Ref weight = side.operand(output, 1);
  const auto contents = weight ? side.contents(weight) : std::nullopt;
  return contents && contents->dims.size() >= 2 &&
         std::ranges::equal(contents->dims.begin() + 2, contents->dims.end(), attribute.ints().begin(), attribute.ints().end());
}

bool is_implied_by_window(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_convolution = has_trait(node, Trait::linear) && traits_of(node).convolution_weight();
  if (!is_convolution && !node.is("AveragePool") && !node.is("MaxPool")) return false;
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

}  // namespace

bool same_semantics(const Node& a, const Call* call_a, const Node& b, const Call* call_b) {
  if (a.opset() == b.opset()) return true;
  if (!a.domain().empty() || !b.domain().empty()) return false;
  const onnx::OpSchema* const of_a = schema_at(a, a.opset());
  const onnx::OpSchema* const of_b = schema_at(b, b.opset());
  if (of_a == nullptr || of_b == nullptr) return false;
  const int older = std::min(of_a->since_version(), of_b->since_version());
  const int newer = std::max(of_a->since_version(), of_b->since_version());
  const auto is_written_for_either = [&](std::string_view attribute) {
    return is_written(a, call_a, attribute) || is_written(b, call_b, attribute);
  };
  for (int version = newer; version > older;) {
    if (!is_unchanged(a.op_type(), version)) return false;
    if (std::ranges::any_of(attributes_changed(a.op_type(), version), is_written_for_either)) return false;
    const onnx::OpSchema* const before = schema_at(a, version - 1);
    version = before != nullptr ? before->since_version() : 0;
  }
  return true;
}

std::optional<MovedArgument> moved_argument(const Node& a, const Node& b) {
  if (!a.domain().empty() || !b.domain().empty()) return std::nullopt;
  const MovedArgument* const found = relayout::moved_argument(a.op_type());
  if (found == nullptr || (a.opset() < found->version) == (b.opset() < found->version)) return std::nullopt;
  return *found;
}

bool is_same_argument(Side& side_a, Ref a, Side& side_b, Ref b, const MovedArgument& argument) {
  struct Numbers {
    bool is_there = false;
    std::optional<std::vector<int64_t>> values;
    bool operator==(const Numbers&) const = default;
  };
  const auto read = [&](Side& side, Ref output) -> Numbers {
    const AttributeReader attributes(*output.value->producer(), output.call);
    if (attributes.has(argument.attribute)) {
      auto values = attributes.integers(argument.attribute);
      return {true, attributes.is_open() ? std::nullopt : std::optional(std::move(values))};
    }
    const Ref operand = side.operand(output, argument.input);
    if (!operand) return {};
    return {true, integers_of(side, operand)};
  };
  const Numbers of_a = read(side_a, a);
  return of_a == read(side_b, b) && (!of_a.is_there || of_a.values);
}

AttributeDefault attribute_default(const Node& node, const std::string& name) {
  const onnx::OpSchema* const schema = schema_at(node, node.opset());
  if (schema == nullptr) return {};
  const auto found = schema->attributes().find(name);
  if (found == schema->attributes().end()) return {};
  const bool has_value = found->second.default_value.has_name();
  return {true, has_value ? &found->second.default_value : nullptr};
}

bool is_implied(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  if (!node.domain().empty() || !attribute.ref_attr_name().empty()) return false;
  const std::string& name = attribute.name();
  if (is_implied_by_window(side, output, attribute)) return true;
  if (node.is("Transpose") && name == "perm") return is_reversal(attribute);
  if (node.is("Split") && name == "num_outputs") return attribute.i() == static_cast<int64_t>(node.outputs().size());
  if (has_trait(node, Trait::quantizes) && name == "axis") return is_scaled_whole(side, output);
  return false;
}

}  // namespace relayout::proof
