#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/op.h"
#include "relayout/execute.h"

namespace relayout {

/// A node that something needs, with its values by number (-1: absent, or a further output that nobody reads).
struct ProgramNode {
  const Node* node;
  const Op* op;
  OpCall call;
  std::vector<int> inputs, outputs;
  [[nodiscard]] int input(std::size_t index) const { return index < inputs.size() ? inputs[index] : -1; }
  [[nodiscard]] int output(std::size_t index) const { return index < outputs.size() ? outputs[index] : -1; }
};

/// A graph made ready for planning, once for all shapes: the nodes that outputs depend on, in order, and their values numbered.
class Program {
 public:
  /// Every node that something needs must have a kernel (see unsupported_nodes).
  Program(const Graph& graph, int threads, uint64_t seed);

  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] std::span<const ProgramNode> nodes() const noexcept { return nodes_; }
  [[nodiscard]] const std::vector<const Value*>& values() const noexcept { return values_; }
  [[nodiscard]] const std::vector<int>& inputs() const noexcept { return inputs_; }    ///< of the graph; all of them
  [[nodiscard]] const std::vector<int>& outputs() const noexcept { return outputs_; }  ///< of the graph
  /// Reads of a value by nodes, plus one for each graph output that it is.
  [[nodiscard]] int readers(int value) const { return readers_[static_cast<std::size_t>(value)]; }
  [[nodiscard]] bool is_output(int value) const { return is_output_[static_cast<std::size_t>(value)]; }
  /// Nodes that read a value, in order, each once per read.
  [[nodiscard]] std::span<const int> consumers(int value) const;

 private:
  int number(const Value* value);
  void count_readers();
  const Graph* graph_;
  std::vector<ProgramNode> nodes_;
  std::vector<const Value*> values_;
  std::unordered_map<const Value*, int> numbers_;
  std::vector<int> inputs_, outputs_, readers_;
  std::vector<bool> is_output_;
  std::vector<int> consumers_, consumers_begin_;
};

/// Why no kernel takes a node, or nothing.
[[nodiscard]] std::optional<std::string> why_unsupported(const Node& node);
/// The nodes among those that outputs depend on that no kernel takes, nested graphs included.
[[nodiscard]] std::vector<Unsupported> unsupported_nodes(const Graph& graph);

}  // namespace relayout
