// Decides whether nodes of two opsets compute the same, whether attribute and operand state the same argument, and what an absent attribute
// is. Tools often move models to newer operator sets and write defaults out; neither changes the computation.

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

#include "ops/op_attributes.h"
#include "ops/op_history.h"
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
  if (schema == nullptr) {
    const onnx::AttributeProto* const added = microsoft_default(node, name);
    return {added != nullptr, added};
  }
  const auto found = schema->attributes().find(name);
  if (found == schema->attributes().end()) return {};
  const bool has_value = found->second.default_value.has_name();
  return {true, has_value ? &found->second.default_value : nullptr};
}

}  // namespace relayout::proof
