// Which nodes and initializers left unused may be removed, and which stay: unknown operators, overridable inputs, models with
// training_info, names in quantization annotations, captured outputs.

#include "passes/cleanup.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/walk.h"
#include "ops/op.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {

bool is_removable(const Node& node) {
  const auto is_known = [](const Node& inner) { return find_op(inner) != nullptr; };
  return is_known(node) && std::ranges::all_of(node.subgraphs(), [&](const auto& nested) { return all_of_nodes(*nested, is_known); });
}

bool is_dead(const Node& node) {
  return is_removable(node) &&
         std::ranges::all_of(node.outputs(), [](const Value* output) { return output == nullptr || is_unused(*output); });
}

bool is_output_elsewhere(const Value& value) {
  const Graph& graph = value.graph();
  const auto own = value.is_own_output() ? std::ranges::count(graph.outputs(), &value) : 0;
  // The body of a Loop lists a value twice if it is both state and scan output: two contracts.
  return value.output_count() > (graph.outer() == nullptr ? own : std::min<std::ptrdiff_t>(own, 1));
}

bool is_unused(const Value& value) {
  return value.uses().empty() && !value.is_output();
}

bool is_removable(const Initializer& initializer, PassContext& context) {
  const Value& value = *initializer.value;
  if (value.is_overridable()) return false;
  // The training graphs refer to the initializers by name.
  if (value.graph().model().message().training_info_size() > 0) return false;
  return !context.annotated.contains(value);
}

void erase_node(Node& node, std::vector<Value*>& freed) {
  for (Value* input : node.inputs()) {
    if (input != nullptr) freed.push_back(input);
  }
  for_each_capture(node, [&](Value& value) { freed.push_back(&value); });
  node.graph().erase(node);
}

void release(Value& value, PassContext& context) {
  std::vector<Value*> open = {&value};
  while (!open.empty()) {
    Value& next = *open.back();
    open.pop_back();
    if (!is_unused(next)) continue;
    if (Initializer* const initializer = next.initializer()) {
      if (!is_removable(*initializer, context)) continue;
      next.graph().erase_initializer(*initializer);
      context.constants.forget(next);
    } else if (Node* const producer = next.producer()) {
      const auto is_needed = [](const Value* output) { return output != nullptr && !is_unused(*output); };
      if (!is_removable(*producer) || std::ranges::any_of(producer->outputs(), is_needed)) continue;
      for (const Value* output : producer->outputs()) {
        if (output != nullptr) context.constants.forget(*output);
      }
      erase_node(*producer, open);
    }
  }
}

}  // namespace relayout::passes
