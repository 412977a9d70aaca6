// Renames values of nested graphs that hide an outer one, which ONNX forbids and ONNX Runtime runs.

#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "model/model_builder.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

/// Whether a value exists when `holder`, a node of its graph, runs.
bool is_made_before(const Value& value, const Node& holder) {
  if (value.producer() == nullptr) return true;
  for (const Node& node : value.graph().nodes()) {
    if (&node == &holder) return false;  // made later, or by the holder itself
    if (&node == value.producer()) return true;
  }
  return false;
}

/// The value of an outer graph that a value of a nested graph hides: both are visible where it is. nullptr when there is none.
const Value* hidden_by(const Value& value) {
  const Graph* graph = &value.graph();
  while (graph->outer() != nullptr) {
    const Value* const found = graph->outer()->find(value.name());
    if (found == nullptr) return nullptr;
    while (graph->outer() != &found->graph()) graph = graph->outer();
    if (is_made_before(*found, *graph->owner())) return found;
    graph = graph->outer();
  }
  return nullptr;
}

/// The inputs and initializers of a nested graph that hide an outer value.
std::vector<Value*> hiding_values(Graph& graph) {
  std::vector<Value*> out;
  const auto look_at = [&](Value& value) {
    if (hidden_by(value) != nullptr) out.push_back(&value);
  };
  for (Value* const input : graph.inputs()) look_at(*input);
  for (const Initializer& initializer : graph.initializers()) {
    if (!initializer.value->is_input()) look_at(*initializer.value);
  }
  return out;
}

std::string kind_of(const Value& value) {
  return value.producer() != nullptr ? "an output of node " + value.producer()->label() : value.is_input() ? "an input" : "an initializer";
}

/// ONNX Runtime hands what one graph of a node captures to all graphs of that node, where it replaces an initializer of its name.
void refuse_ambiguity(const Value& value, const Value& hidden) {
  const Graph* graph = &value.graph();
  while (graph->outer() != &hidden.graph()) graph = graph->outer();
  const auto refuse_capture = [&](const Value& captured) {
    if (&captured != &hidden) return;
    fail(ErrorKind::invalid, "graph in node " + value.graph().owner()->label() + ": " + quote(value.name()) + ", " + kind_of(value) +
                                 ", hides a value of the same name outside, " + kind_of(hidden) + ", which another graph in node " +
                                 graph->owner()->label() + " reads: ONNX wants names that differ, and ONNX Runtime takes the outer value");
  };
  for_each_capture(*graph->owner(), refuse_capture);
}

}  // namespace

void give_own_names(Model& model) {
  std::string first;
  int64_t count = 0;
  const auto separate = [&](Graph& top) {
    const int64_t before = count;
    for_each_graph(top, [&](Graph& nested) {
      if (nested.outer() == nullptr) return;
      for (Value* const value : hiding_values(nested)) {
        refuse_ambiguity(*value, *hidden_by(*value));
        if (count++ == 0) {
          first = "graph in node " + nested.owner()->label() + ": " + quote(value->name()) + ", " + kind_of(*value) +
                  ", hides a value of the same name outside, " + kind_of(*hidden_by(*value));
        }
        nested.rename(*value, model.unique_name(value->name()));
      }
    });
    // Bodies of functions are copied from their messages.
    if (count > before && top.is_function()) top.sync();
  };
  separate(model.graph());
  for (const auto& function : model.functions()) separate(*function);
  if (count == 0) return;
  log_warning(escape(model.name()) + ": " + first + (count > 1 ? ", and so do " + format_count(count - 1) + " more" : "") +
              "; the inner value counts, as in ONNX Runtime, and gets a name of its own");
}

}  // namespace relayout
