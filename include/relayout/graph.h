#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relayout/short_list.h"
#include "relayout/types.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace relayout {

class Graph;
class Model;
class Node;
class Tensor;
class TensorData;  // contents as they are stored, in the file or as a pass made them: Initializer::load() gives the elements
class Value;

/// One place where a value is read.
struct Use {
  Node* node = nullptr;
  int index = 0;  ///< input number
};

/// Declared type of a tensor value. A dim is its size, or -1 with its symbol (which may be empty).
struct ShapeInfo {
  DataType type = DataType::undefined;
  bool has_shape = false;
  Dims dims;
  std::vector<std::string> symbols;  ///< one per dim, "" where the size is known or nameless
};

/// An initializer: its header message (without payload), and its contents, which a pass may have replaced.
struct Initializer {
  Value* value = nullptr;
  onnx::TensorProto* message = nullptr;       ///< null for one that a pass made, and for sparse ones
  onnx::SparseTensorProto* sparse = nullptr;  ///< null for dense ones
  std::unique_ptr<TensorData> data;           ///< null for strings and sparse initializers
  bool modified = false;                      ///< name, dims or data differ from the file
  int file_index = -1;                        ///< among those of its kind in its graph as the file has it; -1: a pass made it
  std::list<Initializer>::iterator self;      ///< of its graph
  /// The elements; nothing for strings and sparse initializers. Error{io} or Error{invalid} when they cannot be read.
  [[nodiscard]] Tensor load() const;
};

/// A value of a graph: one name, made once (by a node, as input, or as initializer), read any number of times.
class Value {
 public:
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Graph& graph() const noexcept { return *graph_; }            ///< that defines it
  [[nodiscard]] Node* producer() const noexcept { return producer_; }        ///< null for inputs and initializers
  [[nodiscard]] int output_index() const noexcept { return output_index_; }  ///< of the producer
  [[nodiscard]] Initializer* initializer() const noexcept { return initializer_; }
  [[nodiscard]] bool is_input() const noexcept { return is_input_; }  ///< of its graph (also a defaulted one)
  /// How many graph outputs name it: its own graph's, and those of nested graphs.
  [[nodiscard]] int output_count() const noexcept { return output_count_; }
  [[nodiscard]] bool is_output() const noexcept { return output_count_ > 0; }
  /// Whether it is an output of its own graph.
  [[nodiscard]] bool is_own_output() const noexcept { return is_own_output_; }
  /// All readers, nodes of nested graphs included; the order is not specified.
  [[nodiscard]] std::span<const Use> uses() const noexcept { return {uses_.data(), uses_.size()}; }
  /// Whether a nested graph reads it, or names it as an output.
  [[nodiscard]] bool is_captured() const noexcept { return nested_readers_ > 0; }
  /// Whether a caller may replace it: an initializer that is an input too, in IR ≥ 4. (In IR 3 all initializers are inputs by rule.)
  [[nodiscard]] bool is_overridable() const noexcept;
  /// Whether it is stored in the model: an initializer that no caller may replace, or what a Constant makes.
  [[nodiscard]] bool is_stored_constant() const noexcept;
  /// Declared type and shape (graph input, output or value_info); nullptr when nothing is declared. Never to be trusted for
  /// anything a wrong declaration could break.
  [[nodiscard]] const onnx::ValueInfoProto* info() const noexcept { return info_; }
  [[nodiscard]] std::optional<ShapeInfo> declared() const;

 private:
  friend class Graph;
  // By size, for large models have a million of them.
  std::string name_;
  ShortList<Use, 1> uses_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  Initializer* initializer_ = nullptr;
  const onnx::ValueInfoProto* info_ = nullptr;
  std::size_t input_slot_ = 0;  ///< of the graph's inputs
  int output_index_ = 0;
  int output_count_ = 0;
  int nested_readers_ = 0;  ///< uses and outputs of nested graphs
  bool is_input_ = false;
  bool is_own_output_ = false;
  bool is_in_value_info_ = false;
};

/// A node of a graph: its name and operands, and the message with the rest. Absent optional inputs and outputs are nullptr.
class Node {
 public:
  using Subgraphs = std::vector<std::unique_ptr<Graph>>;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< may be empty
  [[nodiscard]] const std::string& op_type() const noexcept;
  [[nodiscard]] std::string_view domain() const noexcept;  ///< "ai.onnx" is ""
  /// Whether it is this operator of the default domain.
  [[nodiscard]] bool is(std::string_view op_type) const noexcept;
  /// For messages: 'name' (Op), or output 'x' (Op) without a name.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] std::span<Value* const> inputs() const noexcept { return {inputs_.data(), inputs_.size()}; }
  [[nodiscard]] std::span<Value* const> outputs() const noexcept { return {outputs_.data(), outputs_.size()}; }
  /// nullptr beyond the end or when absent.
  [[nodiscard]] Value* input(std::size_t index) const noexcept { return index < inputs_.size() ? inputs_[index] : nullptr; }
  [[nodiscard]] Value* output(std::size_t index) const noexcept { return index < outputs_.size() ? outputs_[index] : nullptr; }
  /// Operator, attributes and annotations; nodes that agree in them may share one. Name, inputs and outputs are right in it only after
  /// Graph::sync().
  [[nodiscard]] const onnx::NodeProto& message() const noexcept { return *message_; }
  /// The message with name, inputs and outputs as they are now.
  [[nodiscard]] onnx::NodeProto whole_message() const;
  /// nullptr when absent.
  [[nodiscard]] const onnx::AttributeProto* attribute(std::string_view name) const noexcept;
  /// Graphs among the attributes, in order of appearance.
  [[nodiscard]] const Subgraphs& subgraphs() const noexcept;
  /// Version of its domain that the enclosing model or function imports; 0 when none.
  [[nodiscard]] int64_t opset() const noexcept;
  /// New contents of a Constant's `value` (its dims are in the message too), or nullptr: as in the message.
  [[nodiscard]] const TensorData* constant_data() const noexcept { return constant_data_.get(); }
  /// Differs from the file (nested graphs included).
  [[nodiscard]] bool modified() const noexcept { return modified_; }
  /// Its place among the nodes of its graph as the file has them; -1 for one that a pass made.
  [[nodiscard]] int file_index() const noexcept { return file_index_; }
  /// Was erased; the object stays until the graph goes, so that pointers to it can be asked this.
  [[nodiscard]] bool erased() const noexcept { return erased_; }

 private:
  friend class Graph;
  std::string name_;
  onnx::NodeProto* message_ = nullptr;
  Graph* graph_ = nullptr;
  std::unique_ptr<TensorData> constant_data_;
  int64_t order_ = 0;  ///< scratch: position while building and validating
  std::list<Node>::iterator self_;
  ShortList<Value*, 2> inputs_;
  ShortList<Value*, 1> outputs_;
  ShortList<int, 2> use_slots_;           ///< where input i stands in its value's uses
  std::unique_ptr<Subgraphs> subgraphs_;  ///< null: none
  int file_index_ = -1;
  bool modified_ = false, erased_ = false;
  bool shares_message_ = false;  ///< with other nodes: a change needs a copy
};

/// An index over a GraphProto or FunctionProto: nodes in execution order, values by name, producers and uses, nested graphs with
/// captured values resolved to the outer Value. Mutators change the index, sync() brings the messages in step with it; everything is linear
/// in what it touches.
class Graph {
 public:
  /// Main graph of a model, or a nested one. Throws Error{invalid} for dangling inputs, duplicate definitions, cycles; restores
  /// topological order with a warning where only that is missing.
  Graph(Model& model, onnx::GraphProto& message, Graph* outer, Node* owner);
  /// A model-local function.
  Graph(Model& model, onnx::FunctionProto& message);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] Model& model() const noexcept { return *model_; }
  [[nodiscard]] Graph* outer() const noexcept { return outer_; }  ///< null for the main graph and functions
  [[nodiscard]] Node* owner() const noexcept { return owner_; }   ///< the node that holds a nested graph
  [[nodiscard]] bool is_function() const noexcept { return function_ != nullptr; }
  [[nodiscard]] onnx::GraphProto* message() const noexcept { return message_; }  ///< null for a function
  [[nodiscard]] onnx::FunctionProto* function() const noexcept { return function_; }
  [[nodiscard]] int64_t opset(std::string_view domain) const noexcept;

  [[nodiscard]] std::list<Node>& nodes() noexcept { return nodes_; }
  [[nodiscard]] const std::list<Node>& nodes() const noexcept { return nodes_; }
  /// In order; the entry of the message is Value::info() (null in functions).
  [[nodiscard]] const std::vector<Value*>& inputs() const;
  [[nodiscard]] const std::vector<Value*>& outputs() const noexcept { return outputs_; }
  /// In file order, those that passes added where they put them.
  [[nodiscard]] std::list<Initializer>& initializers() noexcept { return initializers_; }
  [[nodiscard]] const std::list<Initializer>& initializers() const noexcept { return initializers_; }
  /// The value of this name that is visible here (outer graphs included), or nullptr.
  [[nodiscard]] Value* find(std::string_view name) const noexcept;

  // Mutators.
  /// Input `index` of `node` reads `value` (nullptr: absent; the list grows as needed, trailing absent inputs go).
  void set_input(Node& node, std::size_t index, Value* value);
  /// Node `node` makes `value` as its output `index`. The value must have no producer (its old producer erased or released by this
  /// very call when it is `from`); what the node made there before must be unused and not visible, and is removed.
  void take_output(Node& node, std::size_t index, Value& value);
  /// Every node that reads `from` reads `to` instead. Graph outputs are names: they stay with `from`.
  void replace_uses(Value& from, Value& to);
  /// Removes a node. Its outputs must be unused and invisible, or have been taken by another node; their value_info goes with them.
  void erase(Node& node);
  /// A new node (op of the default domain unless the message says otherwise) before `position` (nodes().end(): last).
  /// Its inputs must be visible here; its outputs become new values, or take the place of values left without a source (detach).
  Node& insert_before(std::list<Node>::iterator position, const onnx::NodeProto& message);
  [[nodiscard]] std::list<Node>::iterator position_of(Node& node) noexcept { return node.self_; }
  /// A new initializer behind `after` (nullptr: last). The name must be unique (Model::unique_name).
  /// In IR 3 models it gets its entry among the graph inputs.
  Value& add_initializer(const std::string& name, TensorData data, Initializer* after = nullptr);
  /// New contents (and dims) for an initializer in place; its IR-3 input entry follows.
  void set_data(Initializer& initializer, TensorData data);
  /// New contents (and dims) for the `value` of a Constant node.
  void set_constant(Node& constant, TensorData data);
  /// What makes `value` (an initializer, or a node's output) goes on under `name` (unique) as a new value without readers. `value`
  /// keeps name and readers and is left without a source: a node that makes it must be inserted next. An IR-3 input entry goes with
  /// the initializer. Returns the new value.
  Value& detach(Value& value, const std::string& name);
  /// The reverse: what makes `source` makes the only output of `node` instead, name and readers included; `node` and `source` go.
  /// `source` must have no other reader than `node`.
  void attach(Value& source, Node& node);
  /// Removes an initializer without readers, with its IR-3 input entry and value_info.
  void erase_initializer(Initializer& initializer);
  /// Drops the input entry of an overridable initializer, which is a constant from now on.
  void freeze(Initializer& initializer);
  /// Gives a value another name wherever it stands. The new name must be unique in the model. Not for graph inputs (IR ≥ 4) and outputs.
  void rename(Value& value, const std::string& name);
  /// The declared dims of a graph input or output in another order, as far as there are any: result dim i is dim permutation[i].
  void permute_declared(Value& value, std::span<const int64_t> permutation);
  /// The declared element types of values by name, of this graph's inputs, outputs and value_info as far as they are declared tensors.
  void declare_types(const std::unordered_map<std::string, DataType>& types);
  /// Operator, attributes and annotations of a node may be edited through this, not its name and operands; the node counts as modified.
  [[nodiscard]] onnx::NodeProto& edit(Node& node);

  /// Whether nodes, initializers, inputs or value_infos differ from the file (nested graphs included).
  [[nodiscard]] bool modified() const noexcept;
  /// Whether the entry of an input or output was made or changed by a pass.
  [[nodiscard]] bool is_modified(const onnx::ValueInfoProto& entry) const noexcept;
  /// Whether this entry of value_info is stale because a pass took its value away.
  [[nodiscard]] bool is_stale(const onnx::ValueInfoProto& info) const noexcept;
  /// Rebuilds the repeated fields of the message and the operands of its nodes from the index (for printing and for the ONNX library);
  /// payloads stay where they are.
  void sync();
  /// Throws Error{defect} when the index or its messages disagree: uses ↔ producers, order, names, initializer sizes.
  void validate() const;
  /// Calls `visit` with the names of all nodes and values that this graph has or had, those of nested graphs left out.
  void visit_names(const std::function<void(std::string_view)>& visit) const;

 private:
  struct Index;
  class Builder;
  void validate_value(const Value& value) const;
  void validate_node(const Node& node) const;
  void touch(Node* node);
  Value& new_value(std::string name);
  void remove_value(Value& value);
  void add_use(Node& node, std::size_t index, Value& value);
  void drop_use(Node& node, std::size_t index);
  void drop_all_uses(Node& node);
  void drop_input_entry(Value& value);
  void add_input_entry(Value& value);
  void move_source(Value& from, Value& to);
  void bind_name(Value& value, std::string name);
  void release_name(Value& value);
  Model* model_;
  onnx::GraphProto* message_ = nullptr;
  onnx::FunctionProto* function_ = nullptr;
  Graph* outer_ = nullptr;
  Node* owner_ = nullptr;
  std::list<Node> nodes_;
  std::list<Initializer> initializers_;
  mutable std::vector<Value*> inputs_;  ///< with gaps until inputs() closes them
  std::vector<Value*> outputs_;
  std::unique_ptr<Index> index_;
  int level_ = 0;  ///< 0: not nested
  bool modified_ = false;
};

}  // namespace relayout
