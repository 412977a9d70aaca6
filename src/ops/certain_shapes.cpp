// Dims of values in a graph: finds what the shared rules (ops/partial_dims.h) ask of operands, without recursion.

#include "ops/certain_shapes.h"

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/positions.h"
#include "model/tensor_data.h"
#include "ops/composed.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// A node's operands, whose dims are known as far as they can be.
class Operands : public PartialOperands {
 public:
  Operands(const Node& node, const std::unordered_map<const Value*, PartialDims>& known, Constants& constants)
      : node_(node), known_(known), constants_(constants) {}
  [[nodiscard]] bool has(std::size_t input) override { return node_.input(input) != nullptr; }
  [[nodiscard]] PartialDims dims(std::size_t input) override { return has(input) ? known_.at(node_.input(input)) : std::nullopt; }
  [[nodiscard]] DataType type(std::size_t input) override { return constants_.type_of(*node_.input(input)); }
  [[nodiscard]] std::optional<Tensor> contents(std::size_t input) override { return constants_.value(*node_.input(input)); }

 private:
  const Node& node_;
  const std::unordered_map<const Value*, PartialDims>& known_;
  Constants& constants_;
};

PartialDims of_source(const Value& value) {
  if (const Initializer* const initializer = value.initializer(); initializer != nullptr && initializer->data && !value.is_overridable())
    return initializer->data->dims();
  const bool is_contract = value.is_input() && value.graph().outer() == nullptr && !value.graph().is_function();
  const auto declared = is_contract ? value.declared() : std::nullopt;
  return declared && declared->has_shape ? PartialDims(declared->dims) : std::nullopt;
}

}  // namespace

FunctionInstance CertainShapes::compose(const Op& op, const Node& call, Constants& constants) {
  for (const Value* input : call.inputs()) {
    if (input != nullptr) (void)of(*input, constants);
  }
  Operands operands(call, known_, constants);
  return relayout::compose(op, call, operands);
}

PartialDims CertainShapes::of(const Value& value, Constants& constants) {
  struct Open {
    const Value* value;
    std::size_t next = 0;
  };
  std::vector<Open> open = {{&value}};
  while (!open.empty()) {
    Open& top = open.back();
    const Value& at = *top.value;
    const Node* const node = at.producer();
    if (known_.contains(&at)) {
      open.pop_back();
    } else if (const auto constant = constants.find(at); const auto* const found = std::get_if<Constant>(&constant)) {
      known_.emplace(&at, found->dims);
    } else if (node == nullptr) {
      known_.emplace(&at, of_source(at));
    } else if (top.next < node->inputs().size()) {
      const Value* const input = node->input(top.next++);
      if (input != nullptr) open.push_back({input});
    } else {
      Operands operands(*node, known_, constants);
      known_.emplace(&at, partial_dims(OpCall(*node, node->opset()), as_size(at.output_index()), operands));
    }
  }
  return known_.at(&value);
}

}  // namespace relayout
