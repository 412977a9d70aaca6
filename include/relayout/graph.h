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
#include <utility>
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
class TypeProto;
class ValueInfoProto;
}  // namespace onnx

namespace relayout {

class Graph;
class Model;
class Node;
class Tensor;
class TensorData;  // contents as stored in the file or created by a pass; Initializer::load() returns the elements
class Value;

/// One use of a value: an input of a node.
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

/// A declaration in words: "f32 [N, 3, ?]", "f32 of any shape", "a sequence of i64 []", "undeclared".
[[nodiscard]] std::string declared_text(const onnx::ValueInfoProto* info);

/// An initializer: its header message (without payload) and its contents, which a pass may have replaced.
struct Initializer {
  Value* value = nullptr;
  onnx::TensorProto* message = nullptr;       ///< null for sparse initializers and those that a pass added
  onnx::SparseTensorProto* sparse = nullptr;  ///< null for dense initializers
  std::unique_ptr<TensorData> data;           ///< null for strings and sparse initializers
  bool modified = false;                      ///< name, dims or data differ from the file
  int file_index = -1;                        ///< index in the file among the initializers of its kind in its graph; -1: added by a pass
  std::list<Initializer>::iterator self;      ///< position in its graph's list

  /// The elements; an empty Tensor for strings and sparse initializers. Error{io} or Error{invalid} when they cannot be read.
  [[nodiscard]] Tensor load() const;
};

/// A value of a graph: one name, one definition (a node's output, an input, or an initializer), any number of uses.
class Value {
 public:
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Graph& graph() const noexcept { return *graph_; }            ///< the graph that defines it
  [[nodiscard]] Node* producer() const noexcept { return producer_; }        ///< null for inputs and initializers
  [[nodiscard]] int output_index() const noexcept { return output_index_; }  ///< output number at the producer
  [[nodiscard]] Initializer* initializer() const noexcept { return initializer_; }
  [[nodiscard]] bool is_input() const noexcept { return is_input_; }  ///< an input of its graph, with or without a default
  [[nodiscard]] bool is_model_input() const noexcept;                 ///< an input of the main graph
  /// Number of graph outputs that name it, in its own graph and nested graphs.
  [[nodiscard]] int output_count() const noexcept { return output_count_; }
  [[nodiscard]] bool is_output() const noexcept { return output_count_ > 0; }
  /// Whether it is an output of its own graph.
  [[nodiscard]] bool is_own_output() const noexcept { return is_own_output_; }
  /// All uses, by nodes of nested graphs too, in unspecified order.
  [[nodiscard]] std::span<const Use> uses() const noexcept { return {uses_.data(), uses_.size()}; }
  /// Its only use; nullptr if nodes use it never or several times, or a graph output names it.
  [[nodiscard]] const Use* sole_use() const noexcept { return uses_.size() == 1 && !is_output() ? uses_.data() : nullptr; }
  /// Whether a nested graph uses it or names it as an output.
  [[nodiscard]] bool is_captured() const noexcept { return nested_readers_ > 0; }
  /// Whether callers may override it: an initializer that is also an input, in IR ≥ 4. (In IR 3 every initializer must be an input.)
  [[nodiscard]] bool is_overridable() const noexcept;
  /// Whether it is stored in the model: a non-overridable initializer, or the output of a Constant.
  [[nodiscard]] bool is_stored_constant() const noexcept;
  /// Declared type and shape (graph input, output or value_info); nullptr when nothing is declared. Declarations may be wrong: correctness
  /// must not depend on them.
  [[nodiscard]] const onnx::ValueInfoProto* info() const noexcept { return info_; }
  [[nodiscard]] std::optional<ShapeInfo> declared() const;

 private:
  friend class Graph;
  // Ordered by size, as large models have a million values.
  std::string name_;
  ShortList<Use, 1> uses_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  Initializer* initializer_ = nullptr;
  const onnx::ValueInfoProto* info_ = nullptr;
  std::size_t input_slot_ = 0;  ///< index into the graph's inputs
  int output_index_ = 0;
  int output_count_ = 0;
  int nested_readers_ = 0;  ///< uses and outputs of nested graphs
  bool is_input_ = false;
  bool is_own_output_ = false;
  bool is_in_value_info_ = false;
};

/// A node of a graph: its name and operands, and the message with everything else. Absent optional inputs and outputs are nullptr.
class Node {
 public:
  using Subgraphs = std::vector<std::unique_ptr<Graph>>;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< may be empty
  [[nodiscard]] const std::string& op_type() const noexcept;
  [[nodiscard]] std::string_view domain() const noexcept;  ///< "ai.onnx" is ""
  /// Whether it is an operator of this type in the default domain.
  [[nodiscard]] bool is(std::string_view op_type) const noexcept;
  /// The node in error messages: 'name' (Op), or output 'x' (Op) for a node without a name.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] std::span<Value* const> inputs() const noexcept { return {inputs_.data(), inputs_.size()}; }
  [[nodiscard]] std::span<Value* const> outputs() const noexcept { return {outputs_.data(), outputs_.size()}; }
  /// nullptr beyond the end or when absent.
  [[nodiscard]] Value* input(std::size_t index) const noexcept { return index < inputs_.size() ? inputs_[index] : nullptr; }
  [[nodiscard]] Value* output(std::size_t index) const noexcept { return index < outputs_.size() ? outputs_[index] : nullptr; }
  /// Operator, attributes and annotations. Nodes that agree in these may share one message. Its name, inputs and outputs are valid only
  /// after Graph::sync().
  [[nodiscard]] const onnx::NodeProto& message() const noexcept { return *message_; }
  /// A copy of the message with the current name, inputs and outputs.
  [[nodiscard]] onnx::NodeProto whole_message() const;
  /// nullptr when absent.
  [[nodiscard]] const onnx::AttributeProto* attribute(std::string_view name) const noexcept;
  /// Graphs among the attributes, in order of appearance.
  [[nodiscard]] std::span<const std::unique_ptr<Graph>> subgraphs() const noexcept {
    return subgraphs_ != nullptr ? std::span<const std::unique_ptr<Graph>>(*subgraphs_) : std::span<const std::unique_ptr<Graph>>();
  }
  /// Names of the attributes that hold them, in the same order.
  [[nodiscard]] std::vector<std::string_view> subgraph_attributes() const;
  /// The graph that an attribute holds; nullptr when it is absent or holds none, or a list of graphs.
  [[nodiscard]] const Graph* subgraph(std::string_view name) const noexcept;
  /// Version of its domain that the enclosing model or function imports; 0 when it imports none.
  [[nodiscard]] int64_t opset() const noexcept;
  /// New contents of a Constant's `value` (the message has their type and dims), or nullptr when the message's contents are current.
  [[nodiscard]] const TensorData* constant_data() const noexcept { return constant_data_.get(); }
  /// Whether the node or a nested graph differs from the file.
  [[nodiscard]] bool modified() const noexcept { return modified_; }
  /// Index among the nodes of its graph in the file; -1 for a node that a pass added.
  [[nodiscard]] int file_index() const noexcept { return file_index_; }
  /// Whether it was erased. The object lives as long as the graph, so that this can be called through old pointers.
  [[nodiscard]] bool erased() const noexcept { return erased_; }

 private:
  friend class Graph;
  std::string name_;
  onnx::NodeProto* message_ = nullptr;
  Graph* graph_ = nullptr;
  std::unique_ptr<TensorData> constant_data_;
  int64_t order_ = 0;  ///< scratch: position during building and validation
  std::list<Node>::iterator self_;
  ShortList<Value*, 2> inputs_;
  ShortList<Value*, 1> outputs_;
  ShortList<int, 2> use_slots_;           ///< index of input i in its value's uses
  std::unique_ptr<Subgraphs> subgraphs_;  ///< null: none
  int file_index_ = -1;
  bool modified_ = false, erased_ = false;
  bool shares_message_ = false;  ///< shares the message with other nodes: a change needs a copy
};

/// An index over a GraphProto or FunctionProto: nodes in execution order, values by name, producers and uses, nested graphs with captured
/// values resolved to the outer Value. Mutators change the index; sync() updates the messages. All operations are linear in the size of
/// the parts that they touch. The graph owns its nodes, values and initializers.
class Graph {
 public:
  /// The main graph of a model, or a nested one. Throws Error{invalid} for dangling inputs, duplicate definitions, and cycles. Nodes that
  /// are merely out of topological order are sorted, with a warning.
  Graph(Model& model, onnx::GraphProto& message, Graph* outer, Node* owner);
  /// A model-local function.
  Graph(Model& model, onnx::FunctionProto& message);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] Model& model() const noexcept { return *model_; }
  [[nodiscard]] Graph* outer() const noexcept { return outer_; }  ///< null for the main graph and functions
  [[nodiscard]] Node* owner() const noexcept { return owner_; }  ///< the node with this nested graph; null for the main graph and functions
  /// The main graph or function in which it is nested; itself when it is not nested.
  [[nodiscard]] const Graph& top() const noexcept;
  [[nodiscard]] bool is_function() const noexcept { return function_ != nullptr; }
  [[nodiscard]] onnx::GraphProto* message() const noexcept { return message_; }  ///< null for a function
  [[nodiscard]] onnx::FunctionProto* function() const noexcept { return function_; }
  [[nodiscard]] int64_t opset(std::string_view domain) const noexcept;

  [[nodiscard]] std::list<Node>& nodes() noexcept { return nodes_; }
  [[nodiscard]] const std::list<Node>& nodes() const noexcept { return nodes_; }
  /// Inputs in order. Value::info() is the entry in the message (null in functions).
  [[nodiscard]] const std::vector<Value*>& inputs() const;
  [[nodiscard]] const std::vector<Value*>& outputs() const noexcept { return outputs_; }
  /// Initializers in file order; those added by passes are where the pass inserted them.
  [[nodiscard]] std::list<Initializer>& initializers() noexcept { return initializers_; }
  [[nodiscard]] const std::list<Initializer>& initializers() const noexcept { return initializers_; }
  /// The value of this name visible in this graph (values of outer graphs included), or nullptr.
  [[nodiscard]] Value* find(std::string_view name) const noexcept;

  // Mutators. A violated precondition is Error{defect} where it is checked.
  /// Sets input `index` of `node` to `value` (nullptr: absent). The list of inputs grows as needed; trailing absent inputs are removed.
  void set_input(Node& node, std::size_t index, Value* value);
  /// Makes `node` the producer of `value` as its output `index`. A previous producer of `value` loses that output. The previous value of
  /// the output is removed; it must be unused and not a graph output. `value` must be neither input nor initializer.
  void take_output(Node& node, std::size_t index, Value& value);
  /// Replaces `from` by `to` in all inputs of nodes. Graph outputs are names: they keep `from`.
  void replace_uses(Value& from, Value& to);
  /// Removes a node with its outputs and their value_info. The outputs must be unused and no graph outputs, or have been taken by another
  /// node before.
  void erase(Node& node);
  /// Inserts a node before `position` (nodes().end(): last). Its inputs must be visible in this graph. Its outputs become new values, or
  /// the source of values without one (see detach()).
  Node& insert_before(std::list<Node>::iterator position, const onnx::NodeProto& message);
  [[nodiscard]] std::list<Node>::iterator position_of(Node& node) noexcept { return node.self_; }
  /// Adds an initializer after `after` (nullptr: last). The name must be unique (Model::unique_name()). IR-3 models also get the entry
  /// among the graph inputs.
  Value& add_initializer(const std::string& name, TensorData data, Initializer* after = nullptr);
  /// Replaces contents, type and dims of an initializer, and updates its input entry, if any.
  void set_data(Initializer& initializer, TensorData data);
  /// Replaces contents, type and dims of the `value` of a Constant node.
  void set_constant(Node& constant, TensorData data);
  /// Moves the source of `value` (an initializer or a node's output) to a new value `name` without uses, and returns that. The name must be
  /// unique. `value` keeps its name and uses but has no source: a node that produces it must be inserted next. An IR-3 input entry moves
  /// with the initializer.
  Value& detach(Value& value, const std::string& name);
  /// The reverse of detach(): the source of `source` becomes that of the first output of `node`, which keeps name and uses. `node` and
  /// `source` are removed. `node` must be the only use of `source`.
  void attach(Value& source, Node& node);
  /// Removes an unused initializer with its IR-3 input entry and value_info.
  void erase_initializer(Initializer& initializer);
  /// Removes the input entry of an overridable initializer, which makes it a constant.
  void freeze(Initializer& initializer);
  /// Makes an input of a value of the main graph that has no source (see detach()). An entry in value_info is dropped.
  void add_input(Value& value, const onnx::TypeProto& type);
  /// Removes an input without initializer that nothing reads.
  void erase_input(Value& value);
  /// Makes these values the outputs of the main graph. Those that are outputs already keep their entries, the others get one of this type
  /// in place of their entry in value_info.
  void set_outputs(const std::vector<std::pair<Value*, const onnx::TypeProto*>>& outputs);
  /// Renames a value everywhere, entries of graph inputs and outputs included. The new name must be unique in the model. Error{defect} for
  /// outputs of functions, and for values that nested graphs name as outputs.
  void rename(Value& value, const std::string& name);
  /// Permutes the declared dims, if any, of a graph input or output: new dim i is old dim permutation[i].
  void permute_declared(Value& value, std::span<const int64_t> permutation);
  /// Calls `edit` for each entry of this graph's inputs, outputs and value_info; it returns whether it changed the entry, but never its
  /// name.
  void edit_declarations(const std::function<bool(onnx::ValueInfoProto& entry)>& edit);
  /// Sets declared element types by name of value, in this graph's inputs, outputs and value_info, where these declare tensors.
  void declare_types(const std::unordered_map<std::string, DataType>& types);
  /// The message of a node for editing its operator, attributes and annotations, but not its name and operands. Marks the node as modified.
  [[nodiscard]] onnx::NodeProto& edit(Node& node);
  /// Removes descriptions (doc_string), and entries of metadata whose keys `removes` accepts, from the graph, its nodes, declarations and
  /// initializers, but not from nested graphs. Returns how many.
  int64_t remove_annotations(bool descriptions, const std::function<bool(const std::string& key)>& removes);

  /// Whether nodes, initializers, inputs or value_infos differ from the file (nested graphs included).
  [[nodiscard]] bool modified() const noexcept;
  /// Whether a pass added or changed this entry of an input or output.
  [[nodiscard]] bool is_modified(const onnx::ValueInfoProto& entry) const noexcept;
  /// Whether this entry of value_info is stale because a pass removed its value.
  [[nodiscard]] bool is_stale(const onnx::ValueInfoProto& info) const noexcept;
  /// Rebuilds the repeated fields of the message and the operands of its nodes from the index (for printing and the ONNX library). Payloads
  /// stay in their files.
  void sync();
  /// Throws Error{defect} when the index and the messages are inconsistent: uses ↔ producers, order, names, initializer sizes.
  void validate() const;
  /// Calls `visit` with the names of all nodes and values that this graph has or had, without those of nested graphs.
  void visit_names(const std::function<void(std::string_view)>& visit) const;

 private:
  struct Index;
  class Builder;
  void sync_level();
  void validate_level() const;
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
  [[nodiscard]] onnx::ValueInfoProto& new_entry(const Value& value, const onnx::TypeProto& type);
  void add_entry(Value& value, const onnx::TypeProto& type);
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
  mutable std::vector<Value*> inputs_;  ///< may have gaps, which inputs() closes
  std::vector<Value*> outputs_;
  std::unique_ptr<Index> index_;
  int level_ = 0;  ///< 0: not nested
  bool modified_ = false;
};

}  // namespace relayout
