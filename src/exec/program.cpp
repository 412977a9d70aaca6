// Numbers the nodes and values of a graph, with functions expanded, for all later stages.
#include "exec/program.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/indexed.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/body.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::exec {
namespace {

/// Functions that call others twice at every level grow without bound.
constexpr std::size_t kMostNodes = 4'000'000;

bool is_control_flow(const Node& node) {
  return has_trait(node, Trait::control_flow);
}

}  // namespace

std::vector<const Value*> captured_values(const Node& node) {
  std::vector<const Value*> out;
  if (node.subgraphs().empty()) return out;
  std::unordered_set<const Value*> seen;
  for_each_capture(node, [&](const Value& value) {
    if (seen.insert(&value).second) out.push_back(&value);
  });
  return out;
}

std::vector<const Node*> nodes_to_run(const Graph& graph) {
  std::unordered_set<const Value*> needed(graph.outputs().begin(), graph.outputs().end());
  std::vector<const Node*> out;
  const auto& nodes = graph.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const auto is_needed = [&](const Value* value) { return value != nullptr && needed.contains(value); };
    if (!std::ranges::any_of(node->outputs(), is_needed)) continue;
    out.push_back(&*node);
    for (const Value* value : node->inputs()) {
      if (value != nullptr) needed.insert(value);
    }
    for (const Value* value : captured_values(*node)) needed.insert(value);
  }
  std::ranges::reverse(out);
  return out;
}

/// Fills a program: nodes in order, values numbered at first use.
class Program::Builder {
 public:
  Builder(Program& program, const Functions& functions, int threads, uint64_t seed)
      : program_(program), functions_(functions), threads_(threads), seed_(seed) {}

  void build(const Graph& graph) {
    own_graphs_.insert(&graph);
    for (const Value* input : graph.inputs()) program_.inputs_.push_back(id_of(input));
    add_nodes(graph);
    for (const Value* output : graph.outputs()) program_.outputs_.push_back(id_of(output));
    find_captures();
    count_readers();
    drop_unread_outputs();
  }

 private:
  void add_nodes(const Graph& graph) {
    enter_call(depth_);
    for (const Node* node : nodes_to_run(graph)) {
      if (program_.nodes_.size() > kMostNodes) fail(ErrorKind::unsupported, "functions call each other for more than 4,000,000 nodes");
      const Op* const op = find_op(*node);
      if (const auto function = find_function(functions_, *node)) {
        add_call(*node, instantiate(*function, *node));
      } else if (op == nullptr) {
        add_call(*node, instantiate(find_operator_body(*node).value(), *node));
      } else if (op->body != nullptr) {
        add_call(*node, facts_.shapes.compose(*op, *node, facts_.constants));
      } else {
        add_node(*node);
      }
    }
    --depth_;
  }

  void add_node(const Node& node) {
    const Op* const op = is_control_flow(node) ? nullptr : find_op(node);
    ProgramNode entry{program_.nodes_.end_id(), &node, op, OpCall(node, node.opset()), {}, {}, {}};
    entry.call.threads = threads_;
    entry.call.seed = seed_;
    entry.caller = caller_;
    for (const Value* value : node.inputs()) entry.inputs.push_back(id_of(value));
    for (const Value* value : node.outputs()) entry.outputs.push_back(id_of_output(value, entry.outputs.size()));
    for (const Value* value : captured_values(node)) {
      const ValueId capture = id_of(value);
      if (capture != ValueId::none) entry.captures.push_back(capture);
    }
    program_.nodes_.add(std::move(entry));
  }

  /// Adds the nodes of a fresh copy of the body; its inputs and outputs are the call's.
  void add_call(const Node& node, FunctionInstance instance) {
    program_.instances_.push_back(std::move(instance));
    const Graph& graph = *program_.instances_.back().graph;
    own_graphs_.insert(&graph);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) program_.ids_[graph.inputs()[i]] = id_of(node.input(i));
    const std::size_t first = program_.nodes_.size();
    const Caller* const outer = caller_;
    caller_ = &program_.callers_.emplace_back(Caller{&node, outer});
    add_nodes(graph);
    caller_ = outer;
    for (std::size_t k = 0; k < node.outputs().size() && k < graph.outputs().size(); ++k) {
      if (node.outputs()[k] != nullptr) program_.ids_[node.outputs()[k]] = id_of(graph.outputs()[k]);
    }
    if (program_.nodes_.size() == first) return;
    ProgramNode::Call& call = program_.nodes_.back().ended_calls.emplace_back(ProgramNode::Call{&node, {}});
    for (const Value* output : node.outputs()) call.outputs.push_back(id_of(output));
  }

  ValueId id_of(const Value* value) {
    if (value == nullptr) return ValueId::none;
    const auto [entry, is_new] = program_.ids_.try_emplace(value, program_.values_.end_id());
    if (is_new) program_.values_.add(value);
    return entry->second;
  }

  ValueId id_of_output(const Value* value, std::size_t index) {
    return value != nullptr || index > 0 ? id_of(value) : program_.values_.add(nullptr);
  }

  void find_captures() {
    for (const ValueId id : program_.values_.ids()) {
      const Value* const value = program_.values_[id];
      if (value != nullptr && !own_graphs_.contains(&value->graph())) program_.captures_.push_back(id);
    }
  }

  void count_readers() {
    program_.consumers_ = IdLists<ValueId, NodeId>(program_.values_.size(), [this](const auto& add) {
      for (const ProgramNode& node : program_.nodes_) node.for_each_read([&](ValueId value) { add(value, node.id); });
    });
    program_.readers_.resize(program_.values_.size());
    program_.is_output_.resize(program_.values_.size());
    for (const ValueId value : program_.values_.ids()) program_.readers_[value] = static_cast<int>(program_.consumers_[value].size());
    for (const ValueId output : program_.outputs_) {
      if (output == ValueId::none) continue;
      ++program_.readers_[output];
      program_.is_output_[output] = true;
    }
  }

  /// Treats outputs that are not read, other than the first, as absent.
  void drop_unread_outputs() {
    const auto drop = [this](ValueId& output) {
      if (output != ValueId::none && program_.readers_[output] == 0) output = ValueId::none;
    };
    for (ProgramNode& node : program_.nodes_) {
      for (std::size_t k = 1; k < node.outputs.size(); ++k) drop(node.outputs[k]);
      for (ProgramNode::Call& call : node.ended_calls) std::ranges::for_each(call.outputs, drop);
    }
  }

  Program& program_;
  const Functions& functions_;
  int threads_;
  uint64_t seed_;
  OperandFacts facts_;
  std::unordered_set<const Graph*> own_graphs_;  ///< the graph and the instances
  const Caller* caller_ = nullptr;               ///< of the nodes that are being added
  int depth_ = 0;
};

Program::Program(const Graph& graph, const Functions& functions, int threads, uint64_t seed) : graph_(&graph) {
  Builder(*this, functions, threads, seed).build(graph);
}

ValueId Program::find(const Value* value) const {
  const auto entry = ids_.find(value);
  return entry == ids_.end() ? ValueId::none : entry->second;
}

// Bodies of functions, with the attributes of the call filled in.
namespace {

using GivenAttributes = std::unordered_map<std::string, const onnx::AttributeProto*>;

void fill_in(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const GivenAttributes& given);

void fill_in(onnx::NodeProto& node, const GivenAttributes& given) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> filled;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      const auto value = given.find(attribute.ref_attr_name());
      if (value == given.end()) continue;
      onnx::AttributeProto& copy = *filled.Add();
      copy = *value->second;
      copy.set_name(attribute.name());
      continue;
    }
    for_each_graph_in(attribute, [&](onnx::GraphProto& graph) { fill_in(*graph.mutable_node(), given); });
    filled.Add()->Swap(&attribute);
  }
  node.mutable_attribute()->Swap(&filled);
}

void fill_in(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const GivenAttributes& given) {
  for (onnx::NodeProto& node : nodes) fill_in(node, given);
}

}  // namespace

std::optional<FunctionDefinition> find_function(const Functions& functions, const Node& node) {
  const Graph* const graph = functions.called_by(node);
  if (graph == nullptr) return std::nullopt;
  const onnx::FunctionProto& function = *graph->function();
  return FunctionDefinition{&function, {function.attribute_proto().begin(), function.attribute_proto().end()}};
}

std::optional<FunctionDefinition> find_operator_body(const Node& node) {
  if (!node.domain().empty()) return std::nullopt;
  const auto opset = static_cast<int>(node.opset());
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  if (schema == nullptr || schema->deprecated() || !schema->HasFunction()) return std::nullopt;
  FunctionDefinition body{schema->GetFunction(opset), {}};
  if (body.message == nullptr) return std::nullopt;
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.default_value.name().empty()) continue;
    body.defaults.push_back(attribute.default_value);
  }
  return body;
}

FunctionInstance instantiate(const FunctionDefinition& body, const Node& call) {
  FunctionInstance instance;
  instance.message = std::make_unique<onnx::FunctionProto>(*body.message);
  GivenAttributes given;
  for (const onnx::AttributeProto& attribute : body.defaults) given[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& attribute : call.message().attribute()) given[attribute.name()] = &attribute;
  fill_in(*instance.message->mutable_node(), given);
  instance.graph = std::make_unique<Graph>(call.graph().model(), *instance.message);
  return instance;
}

void enter_call(int& level) {
  constexpr int kMostLevels = 200;
  if (++level > kMostLevels) fail(ErrorKind::unsupported, "functions call each other over more than 200 levels");
}

// Names of nodes within calls and nested graphs.

std::string full_name(const std::vector<std::string>& callers, const std::string& name) {
  std::string out;
  for (const std::string& caller : callers) out += caller + " › ";
  return out + name;
}

std::vector<std::string> callers_of(const ProgramNode& node) {
  std::vector<std::string> out;
  for (const Caller* caller = node.caller; caller != nullptr; caller = caller->outer) out.push_back(reported_name(*caller->node));
  std::ranges::reverse(out);
  return out;
}

}  // namespace relayout::exec
