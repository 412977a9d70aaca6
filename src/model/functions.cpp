// Which node calls which function of its model.
#include "model/functions.h"

#include <onnx/onnx_pb.h>

#include <memory>
#include <string>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

Functions::Functions(const Model& model) {
  for (const std::unique_ptr<Graph>& function : model.functions()) {
    const onnx::FunctionProto& message = *function->function();
    const std::string domain = message.domain() == "ai.onnx" ? "" : message.domain();
    functions_.try_emplace({domain, message.name(), message.overload()}, function.get());
  }
}

const Graph* Functions::called_by(const Node& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find({std::string(node.domain()), node.op_type(), node.message().overload()});
  return found != functions_.end() ? found->second : nullptr;
}

}  // namespace relayout
