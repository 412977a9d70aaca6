// Whether an operator is the same in two opsets, by ONNX's schemas, and first opsets of changes: numpy's broadcasting (7), Cast by number
// (6), `axis` of Softmax and its default (13).

#include "ops/op_version.h"

#include <onnx/defs/schema.h>

#include <cstdint>
#include <limits>
#include <string>

#include "model/attributes.h"
#include "relayout/graph.h"

namespace relayout {

int64_t softmax_axis(const Node& node) {
  return Attributes(node).integer("axis", node.opset() < kOneAxisOpset ? 1 : -1);
}

bool is_same_operator(const std::string& op_type, int64_t opset, int64_t other_opset) {
  constexpr int64_t kLimit = std::numeric_limits<int>::max();
  if (opset <= 0 || other_opset <= 0 || opset > kLimit || other_opset > kLimit) return false;
  if (opset == other_opset) return true;
  const auto* const schema = onnx::OpSchemaRegistry::Schema(op_type, static_cast<int>(opset), "");
  return schema != nullptr && schema == onnx::OpSchemaRegistry::Schema(op_type, static_cast<int>(other_opset), "");
}

}  // namespace relayout
