// Puts the nodes of a function, a branch or the body of a loop in the place of the node that holds or calls them.
#include "passes/expansion.h"

#include "model/functions.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// A value that becomes an output of the replaced node.
struct Result {
  const Value* value;
  bool is_stacked = false;  ///< the output has a first dim of size 1 besides
};

/// A node in the caller that makes an output of the replaced node from a value: an Identity, or an Unsqueeze of the first dim.
struct Passed {
  std::string from, to;
  bool is_stacked;
};

/// Detaches the outputs of a node, which keep their names and readers until the new nodes produce them. An output that is no node's of the
/// inner graph, or that another output is already, needs a node of its own.
std::vector<Passed> bind_outputs(Node& holder, const Graph* inner, std::span<const Result> results, FunctionBody& body) {
  std::vector<Passed> passed;
  std::vector<const Value*> bound;
  for (std::size_t i = 0; i < holder.outputs().size() && i < results.size(); ++i) {
    Value* const output = holder.output(i);  // before it is detached: the node makes another value then
    if (output == nullptr) continue;
    const auto [value, is_stacked] = results[i];
    const std::string name = output->name();
    (void)holder.graph().detach(*output, holder.graph().model().unique_name(name + ".called"));
    const bool is_own = value->producer() != nullptr && &value->graph() == inner;
    if (is_stacked || !is_own || std::ranges::find(bound, value) != bound.end()) {
      passed.push_back({body.name_of(value->name()), name, is_stacked});
    } else {
      body.bind(value->name(), name);
      bound.push_back(value);
    }
  }
  return passed;
}

/// The node for `passed`. Unsqueeze reads its axes from an operand since opset 13: all read `axes`, which the first one adds.
onnx::NodeProto node_of(const Passed& passed, Graph& graph, std::string& axes) {
  if (!passed.is_stacked) return node_message("Identity", {passed.from}, {passed.to});
  constexpr int kAxesAsOperand = 13;
  if (graph.opset("") < kAxesAsOperand) {
    onnx::NodeProto out = node_message("Unsqueeze", {passed.from}, {passed.to});
    set_integers(out, "axes", std::array{int64_t{0}});
    return out;
  }
  if (axes.empty()) {
    axes = graph.model().unique_name(passed.to + ".axes");
    graph.add_initializer(axes, TensorData(DataType::int64, {1}, Bytes::owned(std::vector<std::byte>(sizeof(int64_t)))));
  }
  return node_message("Unsqueeze", {passed.from, axes}, {passed.to});
}

/// Erases nodes that other passes had removed from the nested graphs of a node, and that its copy has brought back.
void erase_dead(Graph& graph, std::vector<Value*>& freed) {
  for_each_node_backwards(graph, [&](Node& node) {
    if (is_dead(node)) erase_node(node, freed);
  });
  for_each_graph(graph, [&](Graph& nested) {
    for (Initializer& initializer : nested.initializers()) freed.push_back(initializer.value);
  });
}

/// Puts the nodes of `inner`, if any, and those that make `results` in the place of a node.
int64_t expand(Node& holder, const Graph* inner, std::span<const Result> results, FunctionBody& body, PassContext& context) {
  Graph& graph = holder.graph();
  const std::vector<Passed> passed = bind_outputs(holder, inner, results, body);
  std::vector<Node*> made;
  const auto insert = [&](const onnx::NodeProto& message) { made.push_back(&graph.insert_before(graph.position_of(holder), message)); };
  if (inner != nullptr) {
    for (const Node& node : inner->nodes()) {
      insert(body.node(node.whole_message()));
      if (node.constant_data() != nullptr) graph.set_constant(*made.back(), *node.constant_data());
    }
  }
  std::string axes;
  for (const Passed& one : passed) insert(node_of(one, graph, axes));
  const auto count = static_cast<int64_t>(made.size());
  std::vector<Value*> freed;
  erase_node(holder, freed);
  // Nodes for values that nothing uses here are erased again.
  for (std::size_t i = made.size(); i-- > 0;) {
    for (const auto& nested : made[i]->subgraphs()) erase_dead(*nested, freed);
    if (is_dead(*made[i])) erase_node(*made[i], freed);
  }
  for (Value* value : freed) release(*value, context);
  return count;
}

}  // namespace

int64_t expand(Node& call, const Graph& function, FunctionBody& body, PassContext& context) {
  std::vector<Result> results;
  for (const Value* const output : function.outputs()) results.push_back({output});
  return expand(call, &function, results, body, context);
}

// Nested graphs.
namespace {

constexpr std::size_t kCarried = 2;  ///< operands of a Loop, and inputs of its body, before the values that it carries

/// Gives an input of a body a constant of the main graph, if nodes read it or the Loop gives it: 0, or true.
void bind_constant(const Value& inner, DataType type, FunctionBody& body, Graph& graph) {
  const auto& results = inner.graph().outputs();
  if (inner.uses().empty() && std::find(results.begin() + 1, results.end(), &inner) == results.end()) return;
  std::vector<std::byte> bytes(type == DataType::boolean ? 1 : sizeof(int64_t));
  if (type == DataType::boolean) bytes.front() = std::byte{1};
  const std::string name = graph.model().unique_name(inner.name() + ".first");
  graph.add_initializer(name, TensorData(type, {}, Bytes::owned(std::move(bytes))));
  body.bind(inner.name(), name);
}

/// Lets a body read what it captures under the names of outside.
void bind_captures(const Graph& inner, FunctionBody& body) {
  std::unordered_set<const Graph*> own;
  for_each_graph(inner, [&](const Graph& nested) { own.insert(&nested); });
  const auto bind = [&](const Value* value) {
    if (value != nullptr && !own.contains(&value->graph())) body.bind(value->name(), value->name());
  };
  for_each_node(inner, [&](const Node& node) { std::ranges::for_each(node.inputs(), bind); });
  for_each_graph(inner, [&](const Graph& nested) { std::ranges::for_each(nested.outputs(), bind); });
}

/// Lets values keep their names that are theirs alone.
void bind_own(const Graph& inner, const NameCounts& names, FunctionBody& body) {
  for_each_graph(inner, [&](const Graph& nested) {
    for_each_own_value(nested, [&](const Value& value) {
      const auto count = names.find(value.name());
      if (count != names.end() && count->second == 1) body.bind(value.name(), value.name());
    });
  });
}

/// The initializers of an inner graph as those of the outer one.
void move_initializers(const Graph& inner, FunctionBody& body, Graph& graph) {
  for (const Initializer& initializer : inner.initializers()) {
    graph.add_initializer(body.name_of(initializer.value->name()), *initializer.data);
  }
}

/// Whether a Loop has the operands and results that its body needs.
bool fits_loop(const Node& holder, const Graph& body) {
  if (body.inputs().size() != std::max(kCarried, holder.inputs().size()) || body.outputs().size() + 1 < body.inputs().size()) return false;
  for (std::size_t i = kCarried; i < holder.inputs().size(); ++i) {
    if (holder.input(i) == nullptr) return false;
  }
  return holder.outputs().size() < body.outputs().size();
}

}  // namespace

bool can_inline(const Node& holder, const Graph& graph) {
  Model& model = holder.graph().model();
  if (holder.graph().top().is_function() || model.ir_version() < 4 || !holder.domain().empty()) return false;
  if (holder.is("Loop") ? !fits_loop(holder, graph) : !holder.is("If") || holder.outputs().size() > graph.outputs().size()) return false;
  bool is_plain = true;
  for_each_graph(graph, [&](const Graph& nested) {
    // What a node with nested graphs is copied from is the file's.
    is_plain = is_plain && (&nested == &graph || !nested.modified());
  });
  return is_plain && std::ranges::all_of(graph.initializers(), [](const Initializer& initializer) {
           return initializer.data != nullptr && !initializer.value->is_input();
         });
}

void for_each_own_value(const Graph& graph, const std::function<void(const Value&)>& visit) {
  for (const Value* const input : graph.inputs()) visit(*input);
  for (const Initializer& initializer : graph.initializers()) {
    if (!initializer.value->is_input()) visit(*initializer.value);
  }
  for (const Node& node : graph.nodes()) {
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) visit(*output);
    }
  }
}

void inline_graph(Node& holder, const Graph& inner, PassContext& context, const NameCounts* names) {
  Graph& graph = holder.graph();
  const onnx::FunctionProto no_function;
  const onnx::NodeProto no_call;
  FunctionBody body(graph.model(), no_call, no_function, names == nullptr ? reported_name(holder) : "");
  bind_captures(inner, body);
  if (names != nullptr) bind_own(inner, *names, body);
  std::vector<Result> results;
  if (holder.is("Loop")) {
    bind_constant(*inner.inputs()[0], DataType::int64, body, graph);
    bind_constant(*inner.inputs()[1], DataType::boolean, body, graph);
    const std::size_t carried = inner.inputs().size() - kCarried;
    for (std::size_t i = 0; i < carried; ++i) body.bind(inner.inputs()[kCarried + i]->name(), holder.input(kCarried + i)->name());
    for (std::size_t i = 1; i < inner.outputs().size(); ++i) results.push_back({inner.outputs()[i], i > carried});
  } else {
    for (const Value* const output : inner.outputs()) results.push_back({output});
  }
  move_initializers(inner, body, graph);
  expand(holder, &inner, results, body, context);
  context.constants.clear();
}

void skip_loop(Node& holder, const Graph& inner, std::vector<TensorData> stacks, PassContext& context) {
  Graph& graph = holder.graph();
  const onnx::FunctionProto no_function;
  const onnx::NodeProto no_call;
  FunctionBody names(graph.model(), no_call, no_function, "");
  const std::size_t carried = inner.inputs().size() - kCarried;
  std::vector<Result> results;
  std::size_t next = 0;
  for (std::size_t i = 0; i < holder.outputs().size(); ++i) {
    const Value* value = i < carried ? holder.input(kCarried + i) : nullptr;
    if (i >= carried && holder.output(i) != nullptr) {
      const std::string name = graph.model().unique_name(holder.output(i)->name() + ".empty");
      value = &graph.add_initializer(name, std::move(stacks.at(next++)));
    }
    results.push_back({value});
    if (value != nullptr) names.bind(value->name(), value->name());
  }
  expand(holder, nullptr, results, names, context);
  context.constants.clear();
}

}  // namespace relayout::passes
