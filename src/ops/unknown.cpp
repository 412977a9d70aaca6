// Operators without a definition ("unknown operators pass through untouched"), and nodes with attributes or inputs that their opset's
// version of the operator does not have.

#include "ops/unknown.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/walk.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
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
  if (node.opset() <= 0 || node.opset() > std::numeric_limits<int>::max()) return std::nullopt;
  const auto* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(node.opset()), std::string(node.domain()));
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
