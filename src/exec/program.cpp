// A graph as numbered nodes and values, functions expanded, with what each node calls.
#include "exec/program.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exec/functions.h"
#include "model/walk.h"
#include "ops/composed.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

/// Functions that call each other twice at every level grow without bound.
constexpr std::size_t kMostNodes = 4'000'000;
constexpr int kMostLevels = 200;

bool is_control_flow(const Node& node) {
  return has_trait(node, Trait::control_flow);
}

/// Nodes that a graph's outputs depend on, in order.
std::vector<const Node*> needed_nodes(const Graph& graph) {
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

std::optional<std::string> why_no_body(const Op& op, const Node& node) {
  try {
    (void)compose(op, node);
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

std::string why_unknown(std::string_view domain) {
  if (domain != "com.microsoft.nchwc") return "operator of domain " + std::string(domain);
  // The size of its blocks of channels is that of the processor on which it was saved, and is not in the file.
  return "operator of domain com.microsoft.nchwc, whose layout belongs to one processor and is not in the file: save the model with "
         "ORT_ENABLE_EXTENDED";
}

/// Why the op table does not take a node, or nothing.
std::optional<std::string> why_no_kernel(const Node& node) {
  const Op* const op = find_op(node);
  if (op == nullptr && !node.domain().empty()) return why_unknown(node.domain());
  if (op == nullptr || op->compute == nullptr) return node.subgraphs().empty() ? "unknown operator" : "control flow";
  const int64_t opset = node.opset();
  if (opset < op->since) return "not in opset " + std::to_string(opset) + ", new in " + std::to_string(op->since);
  if (opset > op->reviewed) return "opset " + std::to_string(opset) + " is newer than " + std::to_string(op->reviewed);
  return op->body != nullptr ? why_no_body(*op, node) : std::nullopt;
}

class Survey {
 public:
  explicit Survey(const Model& model) : functions_(model) {}
  void visit(const Graph& graph) {
    for (const Node* node : needed_nodes(graph)) visit(*node);
  }
  std::vector<Unsupported> found;

 private:
  void visit(const Node& node) {
    if (const auto function = functions_.find(node)) return visit_function(*function, node);
    if (is_control_flow(node)) {
      for (const auto& nested : node.subgraphs()) visit(*nested);
      return;
    }
    const auto why = why_no_kernel(node);
    if (!why) return;
    if (find_op(node) == nullptr) {
      if (const auto body = find_operator_body(node)) return visit_function(*body, node);
    }
    const Value* const output = node.output(0);
    const std::string name = !node.name().empty() || output == nullptr ? node.name() : output->name();
    found.push_back({name, node.op_type(), std::string(node.domain()), node.opset(), *why});
  }

  /// Each function once, whoever calls it.
  void visit_function(const FunctionDefinition& body, const Node& call) {
    if (!seen_.insert(body.message).second) return;
    if (++level_ > kMostLevels) fail(ErrorKind::unsupported, "functions call each other over more than 200 levels");
    visit(*instantiate(body, call).graph);
    --level_;
  }

  FunctionTable functions_;
  std::unordered_set<const onnx::FunctionProto*> seen_;
  int level_ = 0;
};

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

std::vector<Unsupported> unsupported_nodes(const Graph& graph) {
  Survey survey(graph.model());
  survey.visit(graph);
  return std::move(survey.found);
}

Program::Program(const Graph& graph, const FunctionTable& functions, int threads, uint64_t seed)
    : graph_(&graph), functions_(&functions), threads_(threads), seed_(seed) {
  own_graphs_.insert(&graph);
  for (const Value* input : graph.inputs()) inputs_.push_back(number(input));
  add_nodes(graph);
  for (const Value* output : graph.outputs()) outputs_.push_back(number(output));
  find_captures();
  count_readers();
}

void Program::add_nodes(const Graph& graph) {
  if (++depth_ > kMostLevels) fail(ErrorKind::unsupported, "functions call each other over more than 200 levels");
  for (const Node* node : needed_nodes(graph)) {
    if (nodes_.size() > kMostNodes) fail(ErrorKind::unsupported, "functions call each other for more than 4,000,000 nodes");
    const Op* const op = find_op(*node);
    if (const auto function = functions_->find(*node)) {
      add_call(*node, instantiate(*function, *node));
    } else if (op == nullptr) {
      add_call(*node, instantiate(find_operator_body(*node).value(), *node));
    } else if (op->body != nullptr) {
      add_call(*node, compose(*op, *node));
    } else {
      add_node(*node);
    }
  }
  --depth_;
}

void Program::add_node(const Node& node) {
  ProgramNode entry{
      static_cast<int>(nodes_.size()), &node, is_control_flow(node) ? nullptr : find_op(node), OpCall(node, node.opset()), {}, {}, {}};
  entry.call.threads = threads_;
  entry.call.seed = seed_;
  for (const Value* value : node.inputs()) entry.inputs.push_back(number(value));
  for (const Value* value : node.outputs()) entry.outputs.push_back(number_output(value, entry.outputs.size()));
  for (const Value* value : captured_values(node)) {
    const int capture = number(value);
    if (capture >= 0) entry.captures.push_back(capture);
  }
  nodes_.push_back(std::move(entry));
}

/// The nodes of a fresh copy of the body; its inputs and outputs are the call's.
void Program::add_call(const Node& node, FunctionInstance instance) {
  instances_.push_back(std::move(instance));
  const Graph& graph = *instances_.back().graph;
  own_graphs_.insert(&graph);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) numbers_[graph.inputs()[i]] = number(node.input(i));
  const std::size_t first = nodes_.size();
  add_nodes(graph);
  for (std::size_t k = 0; k < node.outputs().size() && k < graph.outputs().size(); ++k) {
    if (node.outputs()[k] != nullptr) numbers_[node.outputs()[k]] = number(graph.outputs()[k]);
  }
  if (nodes_.size() == first) return;
  ProgramNode::Call& call = nodes_.back().ended_calls.emplace_back(ProgramNode::Call{&node, {}});
  for (const Value* output : node.outputs()) call.outputs.push_back(output == nullptr ? -1 : number(output));
}

int Program::number(const Value* value) {
  if (value == nullptr) return -1;
  const auto [entry, is_new] = numbers_.try_emplace(value, static_cast<int>(values_.size()));
  if (is_new) values_.push_back(value);
  return entry->second;
}

int Program::number_output(const Value* value, std::size_t index) {
  if (value != nullptr || index > 0) return number(value);
  values_.push_back(nullptr);
  return static_cast<int>(values_.size()) - 1;
}

int Program::find(const Value* value) const {
  const auto entry = numbers_.find(value);
  return entry == numbers_.end() ? -1 : entry->second;
}

void Program::find_captures() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] != nullptr && !own_graphs_.contains(&values_[i]->graph())) captures_.push_back(static_cast<int>(i));
  }
}

void Program::count_readers() {
  readers_.assign(values_.size(), 0);
  is_output_.assign(values_.size(), false);
  for (const ProgramNode& node : nodes_) {
    node.for_each_read([&](int value) { ++readers_[static_cast<std::size_t>(value)]; });
  }
  consumers_begin_.assign(values_.size() + 1, 0);
  for (std::size_t i = 0; i < values_.size(); ++i) consumers_begin_[i + 1] = consumers_begin_[i] + readers_[i];
  consumers_.resize(static_cast<std::size_t>(consumers_begin_.back()));
  std::vector<int> next(consumers_begin_.begin(), consumers_begin_.end() - 1);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].for_each_read(
        [&](int value) { consumers_[static_cast<std::size_t>(next[static_cast<std::size_t>(value)]++)] = static_cast<int>(i); });
  }
  for (const int output : outputs_) {
    if (output < 0) continue;
    ++readers_[static_cast<std::size_t>(output)];
    is_output_[static_cast<std::size_t>(output)] = true;
  }
  // A further output that nobody reads is as good as absent.
  for (ProgramNode& node : nodes_) {
    for (std::size_t k = 1; k < node.outputs.size(); ++k) {
      if (node.outputs[k] >= 0 && readers_[static_cast<std::size_t>(node.outputs[k])] == 0) node.outputs[k] = -1;
    }
    for (ProgramNode::Call& call : node.ended_calls) {
      for (int& output : call.outputs) output = output >= 0 && readers_[static_cast<std::size_t>(output)] > 0 ? output : -1;
    }
  }
}

std::span<const int> Program::consumers(int value) const {
  const auto index = static_cast<std::size_t>(value);
  const auto begin = static_cast<std::size_t>(consumers_begin_[index]);
  return std::span(consumers_).subspan(begin, static_cast<std::size_t>(consumers_begin_[index + 1]) - begin);
}

}  // namespace relayout
