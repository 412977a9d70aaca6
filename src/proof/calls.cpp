// Looks into calls: what the output of a function or of an operator with a body is made of, and what its inputs stand for.
#include "proof/calls.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "base/positions.h"
#include "ops/composed.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

constexpr int kDeepestCall = 64;

/// Operands of a node of the model, for the body of its operator.
class BodyOperands : public PartialOperands {
 public:
  BodyOperands(Constants& constants, const Node& node) : constants_(constants), node_(node) {}
  [[nodiscard]] bool has(std::size_t input) override { return node_.input(input) != nullptr; }
  [[nodiscard]] PartialDims dims(std::size_t input) override { return constants_.dims(*node_.input(input)); }
  [[nodiscard]] DataType type(std::size_t input) override { return constants_.type_of(*node_.input(input)); }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t input) override { return constants_.contents(*node_.input(input)); }

 private:
  Constants& constants_;
  const Node& node_;
};

}  // namespace

Calls::Calls(const Model& model, Constants& constants) : constants_(constants), functions_(model) {
  for (const auto& function : model.functions()) index_inputs(*function);
}

void Calls::index_inputs(const Graph& function) {
  for (std::size_t i = 0; i < function.inputs().size(); ++i) parameters_.emplace(function.inputs()[i], i);
}

const Node& Calls::in_file(const Node& node) const {
  const auto owner = body_owners_.find(&node.graph());
  return owner == body_owners_.end() ? node : *owner->second;
}

Ref Calls::resolve(Ref ref) const {
  while (ref.value != nullptr && ref.call != nullptr && ref.value->is_input() && ref.value->graph().is_function()) {
    ref = {ref.call->node->input(parameters_.at(ref.value)), ref.call->outer};
  }
  return ref;
}

std::optional<Ref> Calls::entered(Ref output) {
  const Node* const node = output.value->producer();
  const Graph* function = node != nullptr ? function_of(*node) : nullptr;
  if (node != nullptr && function == nullptr) function = body_of(*node);
  const auto index = as_size(output.value->output_index());
  const int depth = output.call != nullptr ? output.call->depth + 1 : 1;
  if (function == nullptr || depth > kDeepestCall || index >= function->outputs().size()) return std::nullopt;
  const Call& call = calls_.try_emplace({node, output.call}, Call{node, function, output.call, depth}).first->second;
  return resolve({function->outputs()[index], &call});
}

const Graph* Calls::body_of(const Node& node) {
  const Op* const op = find_op(node);
  if (op == nullptr || op->body == nullptr) return nullptr;
  const auto [known, is_new] = bodies_.try_emplace(&node);
  if (!is_new) return known->second.graph.get();
  BodyOperands operands(constants_, node);
  try {
    known->second = compose(*op, node, operands);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::invalid) throw;
    return nullptr;
  }
  const Graph& body = *known->second.graph;
  index_inputs(body);
  body_owners_.emplace(&body, &node);
  return &body;
}

}  // namespace relayout::proof
