#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/types.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace relayout {

class Graph;
class Model;
class Node;
class TensorData;
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
  onnx::TensorProto* message = nullptr;  ///< null for one that a pass made
  std::unique_ptr<TensorData> data;      ///< null for strings and sparse initializers
  bool sparse = false;
  bool modified = false;                 ///< name, dims or data differ from the file
};

/// A value of a graph: one name, made once (by a node, as input, or as initializer), read any number of times.
class Value {
 public:
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Graph& graph() const noexcept { return *graph_; }           ///< that defines it
  [[nodiscard]] Node* producer() const noexcept { return producer_; }       ///< null for inputs and initializers
  [[nodiscard]] int output_index() const noexcept { return output_index_; } ///< of the producer
  [[nodiscard]] Initializer* initializer() const noexcept { return initializer_; }
  [[nodiscard]] bool is_input() const noexcept { return is_input_; }        ///< of its graph (also a defaulted one)
  /// How many graph outputs name it: its own graph's, and those of nested graphs.
  [[nodiscard]] int output_count() const noexcept { return output_count_; }
  [[nodiscard]] bool is_output() const noexcept { return output_count_ > 0; }
  /// All readers, nodes of nested graphs included; the order is not specified.
  [[nodiscard]] std::span<const Use> uses() const noexcept { return uses_; }
  /// Whether a nested graph reads it.
  [[nodiscard]] bool is_captured() const noexcept;
  /// Declared type and shape (graph input, output or value_info); nullptr when nothing is declared. Never to be trusted for
  /// anything a wrong declaration could break.
  [[nodiscard]] const onnx::ValueInfoProto* info() const noexcept { return info_; }
  [[nodiscard]] std::optional<ShapeInfo> declared() const;

 private:
  friend class Graph;
  std::string name_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  int output_index_ = 0;
  Initializer* initializer_ = nullptr;
  const onnx::ValueInfoProto* info_ = nullptr;
  bool is_input_ = false;
  int output_count_ = 0;
  std::vector<Use> uses_;
};

/// A node of a graph, an index over its message. Absent optional inputs and outputs are nullptr.
class Node {
 public:
  [[nodiscard]] const std::string& name() const noexcept;     ///< may be empty
  [[nodiscard]] const std::string& op_type() const noexcept;
  [[nodiscard]] std::string_view domain() const noexcept;     ///< "ai.onnx" is ""
  /// Whether it is this operator of the default domain.
  [[nodiscard]] bool is(std::string_view op_type) const noexcept;
  /// For messages: 'name' (Op), or output 'x' (Op) without a name.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] std::span<Value* const> inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::span<Value* const> outputs() const noexcept { return outputs_; }
  /// nullptr beyond the end or when absent.
  [[nodiscard]] Value* input(std::size_t index) const noexcept { return index < inputs_.size() ? inputs_[index] : nullptr; }
  [[nodiscard]] Value* output(std::size_t index) const noexcept { return index < outputs_.size() ? outputs_[index] : nullptr; }
  [[nodiscard]] const onnx::NodeProto& message() const noexcept { return *message_; }
  /// nullptr when absent.
  [[nodiscard]] const onnx::AttributeProto* attribute(std::string_view name) const noexcept;
  /// Graphs among the attributes, in order of appearance.
  [[nodiscard]] const std::vector<std::unique_ptr<Graph>>& subgraphs() const noexcept { return subgraphs_; }
  /// Version of its domain that the enclosing model or function imports; 0 when none.
  [[nodiscard]] int64_t opset() const noexcept;
  /// Differs from the file.
  [[nodiscard]] bool modified() const noexcept { return modified_; }

 private:
  friend class Graph;
  onnx::NodeProto* message_ = nullptr;
  Graph* graph_ = nullptr;
  std::list<Node>::iterator self_;
  std::vector<Value*> inputs_, outputs_;
  std::vector<int> use_slots_;  ///< where input i stands in its value's uses
  std::vector<std::unique_ptr<Graph>> subgraphs_;
  bool modified_ = false;
};

/// An index over a GraphProto or FunctionProto: nodes in execution order, values by name, producers and uses, nested graphs with
/// captured values resolved to the outer Value. Mutators keep index and node messages in step; everything is linear in what it touches.
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
  [[nodiscard]] Graph* outer() const noexcept { return outer_; }   ///< null for the main graph and functions
  [[nodiscard]] Node* owner() const noexcept { return owner_; }    ///< the node that holds a nested graph
  [[nodiscard]] bool is_function() const noexcept { return function_ != nullptr; }
  [[nodiscard]] onnx::GraphProto* message() const noexcept { return message_; }      ///< null for a function
  [[nodiscard]] onnx::FunctionProto* function() const noexcept { return function_; }
  [[nodiscard]] int64_t opset(std::string_view domain) const noexcept;

  [[nodiscard]] std::list<Node>& nodes() noexcept { return nodes_; }
  [[nodiscard]] const std::list<Node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const std::vector<Value*>& inputs() const noexcept { return inputs_; }
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
  /// Every reader of `from`, and every graph output that names it where `to` has the same name, reads `to` instead. Graph outputs of
  /// this graph are not touched: they are names.
  void replace_uses(Value& from, Value& to);
  /// Removes a node. Its outputs must be unused and invisible, or have been taken by another node; their value_info goes with them.
  void erase(Node& node);
  /// A new node (op of the default domain unless the message says otherwise) before `position` (nodes().end(): last).
  /// Its inputs must be visible here; its outputs become new values.
  Node& insert_before(std::list<Node>::iterator position, const onnx::NodeProto& message);
  [[nodiscard]] std::list<Node>::iterator position_of(Node& node) noexcept { return node.self_; }
  /// A new initializer behind `after` (nullptr: last). The name must be unique (Model::unique_name).
  /// In IR 3 models it gets its entry among the graph inputs.
  Value& add_initializer(const std::string& name, TensorData data, Initializer* after = nullptr);
  /// New contents (and dims) for an initializer in place.
  void set_data(Initializer& initializer, TensorData data);
  /// Removes an initializer that nobody reads, with its IR-3 input entry and value_info.
  void erase_initializer(Initializer& initializer);
  /// Gives a value another name wherever it stands. The new name must be unique in the model. Not for graph inputs (IR ≥ 4) and outputs.
  void rename(Value& value, const std::string& name);
  /// Node attributes may be edited through this; the node counts as modified.
  [[nodiscard]] onnx::NodeProto& edit(Node& node);

  /// Whether nodes, initializers, inputs or value_infos differ from the file (nested graphs included).
  [[nodiscard]] bool modified() const noexcept;
  /// Names of value_infos that are stale because their value is gone.
  [[nodiscard]] bool is_stale(const onnx::ValueInfoProto& info) const noexcept;
  /// Rebuilds the repeated fields of the message from the index (for printing and for the ONNX library); payloads stay where they are.
  void sync();
  /// Throws Error{defect} when index and messages disagree: uses ↔ producers, order, names, initializer sizes.
  void validate() const;

 private:
  struct Index;
  void build();
  Model* model_;
  onnx::GraphProto* message_ = nullptr;
  onnx::FunctionProto* function_ = nullptr;
  Graph* outer_ = nullptr;
  Node* owner_ = nullptr;
  std::list<Node> nodes_;
  std::list<Initializer> initializers_;
  std::vector<Value*> inputs_, outputs_;
  std::unique_ptr<Index> index_;
  bool modified_ = false;
};

}  // namespace relayout
