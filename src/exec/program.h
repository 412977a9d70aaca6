#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/indexed.h"
#include "exec/function_bodies.h"
#include "exec/ids.h"
#include "model/functions.h"
#include "ops/certain_shapes.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// Functions call each other over no more levels.
inline constexpr int kMostCallLevels = 200;

/// A call of a function whose body nodes come from.
struct Caller {
  const Node* node;
  const Caller* outer;  ///< whose body `node` comes from; or nullptr
};

/// A node that something needs, with its values (none: absent, or a further output that is not read).
struct ProgramNode {
  NodeId id;
  const Node* node;
  const Op* op;  ///< null: control flow, whose nested graphs run as routines of their own
  OpCall call;
  std::vector<ValueId> inputs, outputs;
  std::vector<ValueId> captures;  ///< values from here that nested graphs read
  /// A node of the file that this node ends the body of, with the values that are its outputs.
  struct Call {
    const Node* node;
    std::vector<ValueId> outputs;
  };
  std::vector<Call> ended_calls = {};
  const Caller* caller = nullptr;  ///< nullptr: of the graph itself
  [[nodiscard]] ValueId input(std::size_t index) const { return index < inputs.size() ? inputs[index] : ValueId::none; }
  [[nodiscard]] ValueId output(std::size_t index) const { return index < outputs.size() ? outputs[index] : ValueId::none; }
  /// work(value) for each read, of inputs and captures.
  template <class Work>
  void for_each_read(const Work& work) const {
    for (const ValueId input : inputs) {
      if (input != ValueId::none) work(input);
    }
    for (const ValueId capture : captures) work(capture);
  }
};

/// Certain types and dims before any are given, for operators that are composed by them.
struct OperandFacts {
  CertainShapes shapes;
  Constants constants;
};

/// A graph made ready for planning, once for all shapes: the nodes that outputs depend on, in order, their values numbered, calls of
/// functions replaced by what they call.
class Program {
 public:
  /// Every node that something needs must have a kernel (exec/unsupported.h).
  Program(const Graph& graph, const Functions& functions, int threads, uint64_t seed);

  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] const IdVector<NodeId, ProgramNode>& nodes() const noexcept { return nodes_; }
  /// Null for a first output that the file leaves out: kernels make it all the same.
  [[nodiscard]] const IdVector<ValueId, const Value*>& values() const noexcept { return values_; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const noexcept { return inputs_; }      ///< of the graph; all of them
  [[nodiscard]] const std::vector<ValueId>& outputs() const noexcept { return outputs_; }    ///< of the graph
  [[nodiscard]] const std::vector<ValueId>& captures() const noexcept { return captures_; }  ///< values of outer graphs that it reads
  /// None for a value that no node here reads or makes.
  [[nodiscard]] ValueId find(const Value* value) const;
  /// Reads of a value by nodes, plus one for each graph output that it is.
  [[nodiscard]] int readers(ValueId value) const { return readers_[value]; }
  [[nodiscard]] bool is_output(ValueId value) const { return is_output_[value]; }
  /// Nodes that read a value, in order, each once per read.
  [[nodiscard]] std::span<const NodeId> consumers(ValueId value) const { return consumers_[value]; }

 private:
  class Builder;
  const Graph* graph_;
  std::vector<FunctionInstance> instances_;
  std::deque<Caller> callers_;
  IdVector<NodeId, ProgramNode> nodes_;
  IdVector<ValueId, const Value*> values_;
  std::unordered_map<const Value*, ValueId> ids_;
  std::vector<ValueId> inputs_, outputs_, captures_;
  IdVector<ValueId, int> readers_;
  IdVector<ValueId, bool> is_output_;
  IdLists<ValueId, NodeId> consumers_;
};

/// Values of graphs around a node that its nested graphs read, each once.
[[nodiscard]] std::vector<const Value*> captured_values(const Node& node);
/// Nodes that a graph's outputs depend on, in order.
[[nodiscard]] std::vector<const Node*> needed_nodes(const Graph& graph);

}  // namespace relayout::exec
