// Lists the operators of a model that neither the op table nor ONNX nor the model itself defines.

#include "ops/unknown.h"

#include <onnx/defs/schema.h>

#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

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

/// The registry of schemas takes 9 ms and 6 MiB to come to life: asked only for what the op table does not have.
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
    if (!seen.insert(name).second || functions.contains(name)) return;  // each name is looked at once
    if (!is_known_to_onnx(domain, node.op_type())) unknown.insert(name);
  });
  return {unknown.begin(), unknown.end()};
}

}  // namespace relayout
