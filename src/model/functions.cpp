// Finds the model-local function that a node calls, by domain, name and overload.
#include "model/functions.h"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <tuple>

#include "model/domains.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

Key key_of(const onnx::FunctionProto& function) {
  return {canonical_domain(function.domain()), function.name(), function.overload()};
}

Key key_of(const Node& node) {
  return {node.domain(), node.op_type(), node.message().overload()};
}

}  // namespace

bool calls(const Node& node, const onnx::FunctionProto& function) {
  return key_of(node) == key_of(function);
}

Functions::Functions(const Model& model) {
  for (const std::unique_ptr<Graph>& function : model.functions()) functions_.emplace(key_of(*function->function()), function.get());
}

const Graph* Functions::called_by(const Node& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(key_of(node));
  return found != functions_.end() ? found->second : nullptr;
}

const Graph* Functions::like(const onnx::FunctionProto& function) const {
  const auto found = functions_.find(key_of(function));
  return found != functions_.end() ? found->second : nullptr;
}

const Value* receiver_of(const Node& node, std::size_t index, const Functions& functions) {
  constexpr std::size_t kFirstState = 2;  // of a Loop, after its trip count and condition
  const bool has_body = (node.is("Scan") || (node.is("Loop") && index >= kFirstState)) && !node.subgraphs().empty();
  const Graph* const inner = has_body ? node.subgraphs().front().get() : functions.called_by(node);
  return inner != nullptr && index < inner->inputs().size() ? inner->inputs()[index] : nullptr;
}

}  // namespace relayout
