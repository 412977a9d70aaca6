#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/indexed.h"
#include "model/functions.h"
#include "ops/body.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// Body of a call: a model-local function, or ONNX's body of an operator. With values of attributes that the call may leave out.
struct FunctionDefinition {
  const onnx::FunctionProto* message = nullptr;
  std::vector<onnx::AttributeProto> defaults;
};

/// The function that a node calls, or nothing.
[[nodiscard]] std::optional<FunctionDefinition> find_function(const Functions& functions, const Node& node);
/// ONNX's own body of a default-domain operator, where there is one that does not depend on types; or nothing.
[[nodiscard]] std::optional<FunctionDefinition> find_operator_body(const Node& node);

/// A copy of the body. Attributes that it takes from its caller are replaced (in nested graphs too), or dropped where the call has none.
[[nodiscard]] FunctionInstance instantiate(const FunctionDefinition& body, const Node& call);

/// Counts one more level of calls within calls. Error{unsupported} beyond 200.
void enter_call(int& level);

// Numbers of the parts of a program; see base/indexed.h.

enum class ValueId : int { none = -1 };
enum class NodeId : int { none = -1 };

/// A call of a function whose body contains nodes of the program.
struct Caller {
  const Node* node;
  const Caller* outer;  ///< the call whose body contains `node`; or nullptr
};

/// A node whose results are needed, with its values (none: absent, or an output other than the first that is not read).
struct ProgramNode {
  NodeId id;
  const Node* node;
  const Op* op;  ///< null for control flow, whose nested graphs run as separate routines
  OpCall call;
  std::vector<ValueId> inputs, outputs;
  std::vector<ValueId> captures;  ///< values of this graph that nested graphs read
  /// A node of the file whose body ends with this node, with the values that are its outputs.
  struct Call {
    const Node* node;
    std::vector<ValueId> outputs;
  };
  std::vector<Call> ended_calls = {};
  const Caller* caller = nullptr;  ///< nullptr: the node is in the graph itself
  /// The node of the file that this one and its neighbours compute in single precision; nullptr: `node` computes what the file says.
  const Node* stands_for = nullptr;
  /// The node that watchers and reports know.
  [[nodiscard]] const Node& shown() const { return stands_for == nullptr ? *node : *stands_for; }
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

/// Types and dims that are certain before any are given, for operators whose bodies depend on them.
struct OperandFacts {
  CertainShapes shapes;
  Constants constants;

  /// The inputs of a body have what its call passes.
  void enter(const Node& call, const Graph& body);
  /// The results of a call have what its body gives.
  void leave(const Node& call, const Graph& body);
  /// The results of an If have what its graphs give alike.
  void join(const Node& node);
};

/// What a program needs to know besides its graph.
struct ProgramOptions {
  int threads = 1;
  uint64_t seed = 1;
  /// Compute nodes of 16-bit numbers whose kernels are slow in single precision, and round their results to 16 bits.
  bool widen = false;
  /// Also elementwise nodes and nodes that move elements: values of 16 bits are f32 between them, rounded.
  bool widen_all = false;
};

/// A graph made ready for planning, once for all shapes: the nodes that outputs depend on, in order, with their values numbered, calls of
/// functions replaced by the bodies.
class Program {
 public:
  /// Every needed node must have a kernel (exec/routine.h).
  Program(const Graph& graph, const Functions& functions, const ProgramOptions& options);

  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] const IdVector<NodeId, ProgramNode>& nodes() const noexcept { return nodes_; }
  /// Null for a first output that the file leaves out: kernels compute it anyway.
  [[nodiscard]] const IdVector<ValueId, const Value*>& values() const noexcept { return values_; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const noexcept { return inputs_; }      ///< of the graph; all of them
  [[nodiscard]] const std::vector<ValueId>& outputs() const noexcept { return outputs_; }    ///< of the graph
  [[nodiscard]] const std::vector<ValueId>& captures() const noexcept { return captures_; }  ///< values of outer graphs that it reads
  /// None for a value that no node here reads or computes.
  [[nodiscard]] ValueId find(const Value* value) const;
  /// Reads of a value by nodes, plus one for each graph output that is the value.
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
/// Nodes that have to run for a graph's outputs, in order: also those that only unneeded nodes of nested graphs read, as these graphs
/// capture their values (unlike needed_nodes()).
[[nodiscard]] std::vector<const Node*> nodes_to_run(const Graph& graph);

/// "call › node"
[[nodiscard]] std::string full_name(const std::vector<std::string>& callers, const std::string& name);
/// Names of the calls in which the shown node is, the outermost first.
[[nodiscard]] std::vector<std::string> callers_of(const ProgramNode& node);

}  // namespace relayout::exec
