// Replaces calls of functions, and operators that are compositions of others, by the nodes that compute them.
#include <onnx/defs/function.h>
#include <onnx/defs/schema.h>

#include "derive/linearizer.h"
#include "derive/row.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/functions.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/body.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

constexpr int kMostDepth = 64;  ///< of calls within calls

/// The nodes of a function in place of a call of it. `message`: the call with the attributes that the function takes.
void expand(Node& call, const Graph& function, const onnx::NodeProto& message) {
  Graph& graph = call.graph();
  Model& model = graph.model();
  for (const Node& node : function.nodes()) {
    const int64_t here = model.opset(node.domain()), there = node.opset();
    if (here == 0) {
      auto& import = *model.message().add_opset_import();
      import.set_domain(std::string(node.domain()));
      import.set_version(there);
    } else if (here != there && !(node.domain().empty() && is_same_operator(node.op_type(), here, there))) {
      fail(ErrorKind::unsupported, call.label() + ": its function is of another opset, in which " + node.op_type() + " differs");
    }
  }
  FunctionBody body(model, message, *function.function(), reported_name(call));
  for (std::size_t i = 0; i < function.inputs().size(); ++i) {
    body.bind(function.inputs()[i]->name(), call.input(i) != nullptr ? call.input(i)->name() : "");
  }
  // The call's outputs keep names and readers until an Identity makes each.
  std::vector<std::pair<std::string, std::string>> identities;
  const std::vector<Value*> outputs(call.outputs().begin(), call.outputs().end());
  for (std::size_t i = 0; i < outputs.size() && i < function.outputs().size(); ++i) {
    if (outputs[i] == nullptr) continue;
    const std::string name = outputs[i]->name();
    (void)graph.detach(*outputs[i], model.unique_name(name + ".called"));
    identities.emplace_back(body.name_of(function.outputs()[i]->name()), name);
  }
  for (const Node& node : function.nodes()) {
    Node& made = graph.insert_before(graph.position_of(call), body.node(node.whole_message()));
    if (node.constant_data() != nullptr) graph.set_constant(made, *node.constant_data());
  }
  for (const auto& [from, to] : identities) {
    graph.insert_before(graph.position_of(call), node_message("Identity", {from}, {to}, model.unique_name(to + "/Identity")));
  }
  graph.erase(call);
}

/// Standard operators that are functions of others, and are differentiated as such.
constexpr std::array<std::string_view, 3> kFunctions = {"CenterCropPad", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"};

/// Replaces a node by those of the function with which the standard defines its operator.
void expand_standard(Node& node, Sizes& sizes) {
  const auto opset = static_cast<int>(node.opset());
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  onnx::NodeProto message = node.whole_message();
  for (const auto& [name, attribute] : schema->attributes()) {
    if (node.attribute(name) == nullptr && !attribute.default_value.name().empty()) *message.add_attribute() = attribute.default_value;
  }
  onnx::FunctionProto function;
  if (schema->HasFunction()) {
    function = *schema->GetFunction(opset);
  } else {
    std::vector<onnx::TypeProto> types;
    for (const Value* input : node.inputs()) {
      const DataType type = input == nullptr ? DataType::undefined : sizes.type(*input);
      types.emplace_back().mutable_tensor_type()->set_elem_type(static_cast<int>(type));
    }
    if (!schema->BuildContextDependentFunction(onnx::FunctionBodyBuildContextImpl(message, types), function, opset)) return;
  }
  function.set_name(node.op_type());
  while (function.output_size() > std::ssize(node.outputs())) function.mutable_output()->RemoveLast();
  const Graph graph(node.graph().model(), function);
  expand(node, graph, message);
}

constexpr auto kOpen = std::to_array<Open>({
    {"Attention", attention},
    {"GRU", unrolled},
    {"LSTM", unrolled},
    {"RNN", unrolled},
    {"ReduceProd", product_of_axes},
});

const Open* find_open(std::string_view op) {
  const auto* const found = std::ranges::find(kOpen, op, &Open::op);
  return found == kOpen.end() ? nullptr : found;
}

void open(Node& node, const Open& entry, Sizes& sizes) {
  Graph& graph = node.graph();
  Writer w(graph);
  w.stand_before(graph.position_of(node));
  w.name_after(first_output(node)->name() + ".steps");
  const Names made = entry.write(Row(node, sizes, w));
  for (std::size_t i = 0; i < node.outputs().size() && i < made.size(); ++i) {
    Value* const output = node.output(i);
    if (output == nullptr) continue;
    const std::string name = output->name();
    (void)graph.detach(*output, graph.model().unique_name(name + ".called"));
    w.make_named(made[i], name);
  }
  graph.erase(node);
}

}  // namespace

bool is_opened(std::string_view op) {
  return find_open(op) != nullptr || std::ranges::find(kFunctions, op) != kFunctions.end();
}

void open_nodes(Graph& graph, const std::vector<const Value*>& wrt, const std::vector<const Value*>& of) {
  bool has_changed = true;
  for (int depth = 0; has_changed && depth < kMostDepth; ++depth) {
    has_changed = false;
    const auto needed = needed_nodes(of);
    std::unordered_set<const Value*> behind(wrt.begin(), wrt.end());
    std::vector<Node*> between;
    for (Node& node : graph.nodes()) {
      if (!any_read(node, [&](const Value& value) { return behind.contains(&value); })) continue;
      behind.insert(node.outputs().begin(), node.outputs().end());
      behind.erase(nullptr);
      if (needed.contains(&node)) between.push_back(&node);
    }
    Sizes sizes(graph);
    for (Node* node : between) {
      if (node->is("If")) share_constants(*node);
      if (!node->domain().empty() || !is_opened(node->op_type())) continue;
      const Open* const entry = find_open(node->op_type());
      entry != nullptr ? open(*node, *entry, sizes) : expand_standard(*node, sizes);
      has_changed = true;
    }
  }
}

void enter_calls(Model& model, bool enters_compositions) {
  const Functions functions(model);
  for (int depth = 0; depth < kMostDepth; ++depth) {
    bool has_changed = false;
    std::vector<Node*> nodes;
    for_each_node(model.graph(), [&](Node& node) { nodes.push_back(&node); });
    for (Node* node : nodes) {
      if (const Graph* const function = functions.called_by(*node)) {
        expand(*node, *function, node->message());
        has_changed = true;
        continue;
      }
      const Op* const op = node->domain().empty() || !enters_compositions ? nullptr : find_op(*node);
      if (op == nullptr || op->body == nullptr) continue;
      Constants constants;
      const FunctionInstance instance = CertainShapes().compose(*op, *node, constants);
      const auto own = [](const Node& inner) { return inner.domain() == Body::kOwnDomain; };
      if (std::ranges::any_of(instance.graph->nodes(), own)) continue;
      expand(*node, *instance.graph, node->message());
      has_changed = true;
    }
    if (!has_changed) break;
  }
  std::vector<const Graph*> uncalled;
  for (const auto& function : model.functions()) uncalled.push_back(function.get());
  const auto is_call = [&](const Node& node) { return functions.called_by(node) != nullptr; };
  bool is_called = false;
  for (const Node& node : model.graph().nodes()) is_called = is_called || any_node_run(node, functions, is_call);
  if (is_called) return;
  for (const Graph* function : uncalled) ModelBuilder::erase_function(model, *function);
}

}  // namespace relayout::derive
