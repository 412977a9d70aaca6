#include "exec/program.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/op.h"
#include "relayout/execute.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

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
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace

std::optional<std::string> why_unsupported(const Node& node) {
  if (!node.domain().empty()) return "operator of domain " + std::string(node.domain());
  if (!node.subgraphs().empty()) return "control flow";
  const Op* const op = find_op(node.op_type());
  if (op == nullptr || op->compute == nullptr) return "unknown operator";
  const int64_t opset = node.opset();
  if (opset < op->since) return "not in opset " + std::to_string(opset) + ", new in " + std::to_string(op->since);
  if (opset > op->reviewed) return "opset " + std::to_string(opset) + " is newer than " + std::to_string(op->reviewed);
  return std::nullopt;
}

std::vector<Unsupported> unsupported_nodes(const Graph& graph) {
  std::vector<Unsupported> out;
  for (const Node* node : needed_nodes(graph)) {
    const auto why = why_unsupported(*node);
    if (!why) continue;
    const Value* const output = node->output(0);
    const std::string name = !node->name().empty() || output == nullptr ? node->name() : output->name();
    out.push_back({name, node->op_type(), std::string(node->domain()), node->opset(), *why});
  }
  return out;
}

Program::Program(const Graph& graph, int threads, uint64_t seed) : graph_(&graph) {
  for (const Value* input : graph.inputs()) inputs_.push_back(number(input));
  for (const Node* node : needed_nodes(graph)) {
    ProgramNode entry{node, find_op(node->op_type()), OpCall(*node, node->opset()), {}, {}};
    entry.call.threads = threads;
    entry.call.seed = seed;
    for (const Value* value : node->inputs()) entry.inputs.push_back(number(value));
    for (const Value* value : node->outputs()) entry.outputs.push_back(number(value));
    nodes_.push_back(std::move(entry));
  }
  for (const Value* output : graph.outputs()) outputs_.push_back(number(output));
  count_readers();
}

int Program::number(const Value* value) {
  if (value == nullptr) return -1;
  const auto [entry, is_new] = numbers_.try_emplace(value, static_cast<int>(values_.size()));
  if (is_new) values_.push_back(value);
  return entry->second;
}

void Program::count_readers() {
  readers_.assign(values_.size(), 0);
  is_output_.assign(values_.size(), false);
  for (const ProgramNode& node : nodes_) {
    for (const int input : node.inputs) {
      if (input >= 0) ++readers_[static_cast<std::size_t>(input)];
    }
  }
  consumers_begin_.assign(values_.size() + 1, 0);
  for (std::size_t i = 0; i < values_.size(); ++i) consumers_begin_[i + 1] = consumers_begin_[i] + readers_[i];
  consumers_.resize(static_cast<std::size_t>(consumers_begin_.back()));
  std::vector<int> next(consumers_begin_.begin(), consumers_begin_.end() - 1);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const int input : nodes_[i].inputs) {
      if (input >= 0) consumers_[static_cast<std::size_t>(next[static_cast<std::size_t>(input)]++)] = static_cast<int>(i);
    }
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
  }
}

std::span<const int> Program::consumers(int value) const {
  const auto index = static_cast<std::size_t>(value);
  const auto begin = static_cast<std::size_t>(consumers_begin_[index]);
  return std::span(consumers_).subspan(begin, static_cast<std::size_t>(consumers_begin_[index + 1]) - begin);
}

}  // namespace relayout
