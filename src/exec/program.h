#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "exec/functions.h"
#include "ops/op.h"
#include "relayout/execute.h"

namespace relayout {

/// A node that something needs, with its values by number (-1: absent, or a further output that nobody reads).
struct ProgramNode {
  int number;  ///< among the program's nodes
  const Node* node;
  const Op* op;  ///< null: control flow, whose nested graphs run as routines of their own
  OpCall call;
  std::vector<int> inputs, outputs;
  std::vector<int> captures;  ///< values from here that nested graphs read
  /// A node of the file that this node ends the body of, with the values that are its outputs.
  struct Call {
    const Node* node;
    std::vector<int> outputs;
  };
  std::vector<Call> ended_calls = {};
  [[nodiscard]] int input(std::size_t index) const { return index < inputs.size() ? inputs[index] : -1; }
  [[nodiscard]] int output(std::size_t index) const { return index < outputs.size() ? outputs[index] : -1; }
  /// work(value) for each read, of inputs and captures.
  template <class Work>
  void for_each_read(const Work& work) const {
    for (const int input : inputs) {
      if (input >= 0) work(input);
    }
    for (const int capture : captures) work(capture);
  }
};

/// A graph made ready for planning, once for all shapes: the nodes that outputs depend on, in order, their values numbered, calls of
/// functions replaced by what they call.
class Program {
 public:
  /// Every node that something needs must have a kernel (see unsupported_nodes).
  Program(const Graph& graph, const FunctionTable& functions, int threads, uint64_t seed);

  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] std::span<const ProgramNode> nodes() const noexcept { return nodes_; }
  /// Null for a first output that the file leaves out: kernels make it all the same.
  [[nodiscard]] const std::vector<const Value*>& values() const noexcept { return values_; }
  [[nodiscard]] const std::vector<int>& inputs() const noexcept { return inputs_; }      ///< of the graph; all of them
  [[nodiscard]] const std::vector<int>& outputs() const noexcept { return outputs_; }    ///< of the graph
  [[nodiscard]] const std::vector<int>& captures() const noexcept { return captures_; }  ///< values of outer graphs that it reads
  /// The number of a value, or -1.
  [[nodiscard]] int find(const Value* value) const;
  /// Reads of a value by nodes, plus one for each graph output that it is.
  [[nodiscard]] int readers(int value) const { return readers_[static_cast<std::size_t>(value)]; }
  [[nodiscard]] bool is_output(int value) const { return is_output_[static_cast<std::size_t>(value)]; }
  /// Nodes that read a value, in order, each once per read.
  [[nodiscard]] std::span<const int> consumers(int value) const;

 private:
  int number(const Value* value);
  int number_output(const Value* value, std::size_t index);
  void add_nodes(const Graph& graph);
  void add_node(const Node& node);
  void add_call(const Node& node, FunctionInstance instance);
  void find_captures();
  void count_readers();
  const Graph* graph_;
  const FunctionTable* functions_;
  int threads_;
  uint64_t seed_;
  std::vector<FunctionInstance> instances_;
  std::unordered_set<const Graph*> own_graphs_;  ///< the graph and the instances
  int depth_ = 0;
  std::vector<ProgramNode> nodes_;
  std::vector<const Value*> values_;
  std::unordered_map<const Value*, int> numbers_;
  std::vector<int> inputs_, outputs_, captures_, readers_;
  std::vector<bool> is_output_;
  std::vector<int> consumers_, consumers_begin_;
};

/// Values of graphs around a node that its nested graphs read, each once.
[[nodiscard]] std::vector<const Value*> captured_values(const Node& node);
/// The nodes among those that outputs depend on that no kernel takes, nested graphs and functions included.
[[nodiscard]] std::vector<Unsupported> unsupported_nodes(const Graph& graph);

}  // namespace relayout
