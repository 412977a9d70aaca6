#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// Whether a node may be removed when its results are unused: its operator is known to this tool, and so are the operators of all nodes in
/// its nested graphs.
[[nodiscard]] bool is_removable(const Node& node);
/// Whether a node is removable and all its results are unused.
[[nodiscard]] bool is_dead(const Node& node);
/// Whether element i of a node's first operand becomes element i of its result, in another type or by another scale at most.
[[nodiscard]] bool keeps_elements(const Node& node);
/// Whether no node reads the value and no graph outputs it.
[[nodiscard]] bool is_unused(const Value& value);
/// Whether a nested graph outputs the value under its own name, or the body of a Loop that computes it lists it twice.
[[nodiscard]] bool is_output_elsewhere(const Value& value);
/// Whether an initializer may be removed when it is unused: it is not overridable, the model has no training_info, and no quantization
/// annotation refers to it.
[[nodiscard]] bool is_removable(const Initializer& initializer, PassContext& context);
/// Removes the producer or initializer of `value`, if it is unused, and all inputs that only that needed: constant chains to their
/// initializers.
void release(Value& value, PassContext& context);
/// Erases a node whose outputs are unused (or have been taken over) and adds its inputs to `freed`, captures of nested graphs included.
void erase_node(Node& node, std::vector<Value*>& freed);

/// The small constant list of integers that a node reads; empty where the operand is absent, nothing where it is not constant.
[[nodiscard]] std::optional<std::vector<int64_t>> constant_list(const Node& node, std::size_t index, PassContext& context);

/// Gives input `index` of a node new constant contents. An initializer without another reader is changed in place. An operand that was
/// computed, or stored in another form, for this node alone becomes an initializer of the same name. An operand with other readers is left
/// to them; the new one is called NAME.folded. A missing operand is added as `name`. Names are made unique.
void set_constant_input(Node& node, std::size_t index, TensorData data, const std::string& name, PassContext& context);
/// Sets input `index` to `data` multiplied by `scale`; equal factors for one shared weight share one copy.
void scale_constant_input(Node& node, std::size_t index, const TensorData& data, const Scale& scale, PassContext& context);
/// Adds a constant that `reader` can see: an initializer of `home`, or a Constant node right before `reader` in a function and in nested
/// graphs before IR 4. The name must be free.
Value& add_constant(Graph& home, Node& reader, const std::string& name, TensorData data, Initializer* after);

/// --freeze: initializers that a caller could replace become constants.
void freeze(Graph& graph, PassContext& context);

/// A Transpose to be inserted. Its output is a new value, or an existing one without a source.
struct NewTranspose {
  Value& input;
  std::string output;
  std::string name;
  Dims permutation;
};

/// Inserts it right after the node of `graph` that makes its input; as the first node if there is none, as for graph inputs and captured
/// values.
Node& insert_after_source(Graph& graph, const NewTranspose& transpose);
/// Inserts it as the last node.
Node& insert_last(Graph& graph, const NewTranspose& transpose);
/// Inserts Transposes as insert_after_source() does, but keeps those at the front of a graph in the order of insertion.
class OrderedTransposes {
 public:
  Node& insert_after_source(Graph& graph, const NewTranspose& transpose);

 private:
  std::unordered_map<const Graph*, std::list<Node>::iterator> fronts_;  ///< the first nodes that were there before
};

/// The name of the Transpose that makes a new value, or reads it: VALUE/Transpose.
[[nodiscard]] std::string transpose_name(const std::string& value);
/// Entries of a Transpose's `perm`; 0 when they are not given in the node.
[[nodiscard]] std::size_t permutation_rank(const Node& transpose);
/// Removes a node whose output is a graph output: its input's producer and readers move to the output.
void attach_through(Graph& graph, Node& node);

}  // namespace relayout::passes
