#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/functions.h"
#include "ops/body.h"
#include "ops/bounds.h"
#include "ops/branches.h"
#include "ops/constants.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::proof {

/// An entered call of a model-local function or of an operator with a body (ops/body.h). It resolves the function's inputs and
/// attribute references.
struct Call {
  const Node* node = nullptr;
  const Graph* function = nullptr;
  const Call* outer = nullptr;  ///< the call that `node` itself is in
  int depth = 1;
};

/// A value as seen from within a call. Without a call, function inputs and references are left unresolved.
struct Ref {
  const Value* value = nullptr;  ///< nullptr: an absent operand
  const Call* call = nullptr;
  [[nodiscard]] explicit operator bool() const noexcept { return value != nullptr; }
  bool operator==(const Ref&) const = default;
};

struct RefHash {
  [[nodiscard]] std::size_t operator()(const Ref& ref) const noexcept {
    return std::hash<const void*>()(ref.value) * 31 + std::hash<const void*>()(ref.call);
  }
};

/// A value of the first model and one of the second.
using RefPair = std::pair<Ref, Ref>;
struct RefPairHash {
  [[nodiscard]] std::size_t operator()(const RefPair& pair) const noexcept {
    return RefHash()(pair.first) * 1000003 + RefHash()(pair.second);
  }
};

/// The calls of one model that the proof enters: of model-local functions, and of operators with a body.
class Calls {
 public:
  Calls(const Model& model, Constants& constants);
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  /// The node itself, or the node whose body contains it.
  [[nodiscard]] const Node& in_file(const Node& node) const;
  /// Resolves inputs of entered functions to the caller's values, and those of bodies that run once to what the Loop reads.
  [[nodiscard]] Ref resolve(Ref ref) const;
  /// The model-local function that a node calls, or nullptr.
  [[nodiscard]] const Graph* function_of(const Node& node) const { return functions_.called_by(node); }
  /// From now on, inputs of the body of a Loop that runs once are the operands that it carries.
  void carry_once(const Node& loop);
  /// Value of a call's output within the function or operator body. Empty if `output` is not a call's or calls are nested too deeply.
  [[nodiscard]] std::optional<Ref> entered(Ref output);

 private:
  void index_inputs(const Graph& function);
  /// The node as a graph of standard operators; nullptr if its operator has no body, or none for this form.
  [[nodiscard]] const Graph* body_of(const Node& node);

  Constants& constants_;
  Functions functions_;
  std::unordered_map<const Value*, std::size_t> parameters_;  ///< index of each function input
  std::unordered_map<const Value*, const Value*> carried_;    ///< inputs of bodies that run once: what they are
  std::map<std::pair<const Node*, const Call*>, Call> calls_;
  std::unordered_map<const Node*, FunctionInstance> bodies_;  ///< without a graph if there is none
  std::unordered_map<const Graph*, const Node*> body_owners_;
};

/// One of the two models, as the proof reads it.
class Side {
 public:
  /// `widens`: numbers of 16 bits are read as float32, and so are the values that hold them.
  explicit Side(const Model& model, bool widens = false);

  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] bool widens() const noexcept { return widens_; }
  /// The type, or the constant, as the proof reads it.
  [[nodiscard]] DataType as_read(DataType type) const noexcept;
  [[nodiscard]] Constant as_read(Constant constant) const;
  /// All nodes in order, those of nested graphs and functions included. A node's nested graphs come right before it.
  [[nodiscard]] const std::vector<const Node*>& nodes() const noexcept { return nodes_; }
  /// Index in nodes(). A node in an operator's body has the index of the operator.
  [[nodiscard]] int64_t order_of(const Node& node) const { return order_.at(&in_file(node)); }

  // See Calls.
  [[nodiscard]] const Node& in_file(const Node& node) const { return calls_.in_file(node); }
  [[nodiscard]] Ref resolve(Ref ref) const { return calls_.resolve(ref); }
  [[nodiscard]] const Graph* function_of(const Node& node) const { return calls_.function_of(node); }
  [[nodiscard]] std::optional<Ref> entered(Ref output) { return calls_.entered(output); }
  /// Operand `index` of the node that produces `of`, resolved.
  [[nodiscard]] Ref operand(Ref of, std::size_t index) const { return resolve({of.value->producer()->input(index), of.call}); }

  /// From now on, the default of this input is a constant.
  void freeze(const Value& value) { frozen_.insert(&value); }
  /// The constant, evaluated if necessary; empty if the value is not constant.
  [[nodiscard]] std::optional<Constant> constant(Ref ref);
  /// The certain part of small contents, valid for all calls of the function that computes them.
  [[nodiscard]] std::optional<PartialContents> partial_contents(Ref ref) { return constants_.contents(*ref.value); }
  /// Same as constant(), and also for initializers that are constant unless a caller or training replaces them: overridable and trained
  /// ones.
  [[nodiscard]] std::optional<Constant> contents(Ref ref);
  /// The nearest edge of a domain downstream of a value.
  [[nodiscard]] EdgeDownstream edge_downstream(const Value& value) { return relayout::edge_downstream(value, constants_); }
  /// Which graph an If takes wherever the model runs to its end; see Branches.
  [[nodiscard]] std::optional<bool> condition(Ref output);
  /// How often a Loop runs: 0 or 1 where constants decide that; nothing for other nodes.
  [[nodiscard]] std::optional<int64_t> runs(const Node& loop) const;
  /// The value that a Loop which runs once or never gives as this output; nothing for scan outputs and other nodes.
  [[nodiscard]] Ref carried_out(Ref output) const;
  /// The value of which a Loop that runs once gives a stack of one as this output; nothing for other outputs.
  [[nodiscard]] Ref stacked_once(Ref output) const;
  /// Element type of a value; undefined if the model does not determine it.
  [[nodiscard]] DataType type_of(Ref ref);
  /// The initializer or Constant with the elements of `ref` in the file, also upstream of Identity and Transpose; else nullptr. The nodes
  /// on the way are appended to `path`.
  [[nodiscard]] const Value* stored(Ref ref, std::vector<const Node*>* path = nullptr) const;

 private:
  void index(const Graph& graph);
  void index_loops();

  const Model& model_;
  bool widens_;
  Constants constants_;
  Branches branches_{constants_};
  Calls calls_;
  std::unordered_set<const Value*> frozen_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, int64_t> order_;
  std::unordered_map<const Node*, int64_t> runs_;  ///< of Loops
  std::unordered_map<Ref, DataType, RefHash> types_;
};

/// Elements of a constant of a floating-point type, widened; empty for other values and for more than `limit` elements.
[[nodiscard]] std::optional<std::vector<double>> reals_of(Side& side, Ref ref, int64_t limit);
/// Elements of a constant of type int64 or int32, at most 64; else empty.
[[nodiscard]] std::optional<std::vector<int64_t>> integers_of(Side& side, Ref ref);

/// Reads a node's attributes within a call.
class AttributeReader {
 public:
  AttributeReader(const Node& node, const Call* call) : node_(node), call_(call) {}
  /// The attribute with references of entered functions resolved; nullptr if absent. An unresolvable reference is returned as it is, and
  /// `is_open()` is true from then on, as it is where an attribute has another type than the one that is read.
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name) const;
  [[nodiscard]] int64_t integer(std::string_view name, int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, float otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<int64_t> integers(std::string_view name) const;  ///< empty if absent
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] bool is_open() const noexcept { return open_; }

 private:
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name, int type) const;

  const Node& node_;
  const Call* call_;
  mutable bool open_ = false;
};

/// Certain dims of values: from declared graph inputs (which are contracts), constants and operators, never from declared inner shapes.
/// Unknown operators give none.
class Shapes {
 public:
  explicit Shapes(Side& side) : side_(side) {}
  /// Dims, with -1 for each unknown one; empty if the rank is unknown.
  [[nodiscard]] std::optional<Dims> of(Ref ref);
  /// A dim of a value, as the value upstream that it comes from has it: equal origins are equal dims.
  struct Origin {
    Ref value;
    int64_t axis = 0;
    bool operator==(const Origin&) const = default;
  };
  [[nodiscard]] Origin origin_of(Ref ref, int64_t axis);
  /// The origin of the dim that an element of a small list of dims is; nothing for other numbers.
  [[nodiscard]] std::optional<Origin> dim_in(Ref list, int64_t place);

 private:
  using Shape = std::optional<Dims>;
  [[nodiscard]] Shape of_source(Ref ref);
  [[nodiscard]] Shape of_node(Ref output);

  Side& side_;
  std::unordered_map<Ref, Shape, RefHash> shapes_;
};

/// Whether the node passes on its first operand with different dims, its elements in the same row-major order.
[[nodiscard]] bool is_reshaping(const Node& node);
/// The dims of a value if all of them are certain.
[[nodiscard]] std::optional<Dims> certain_dims(Shapes& shapes, Ref ref);

/// Pads of a Pad by axis of its operand: begins, then ends. Empty if they are not constant.
[[nodiscard]] std::optional<std::vector<int64_t>> paddings(Side& side, Ref output, const AttributeReader& attributes,
                                                           const std::optional<Dims>& dims);

/// Whether the node passes its first input unchanged to its first output: Identity, Dropout that does not drop, Transpose that moves
/// nothing, Concat, Sum, Max, Min, Mean of one operand, Cast to the operand's own type.
[[nodiscard]] bool is_identity(Side& side, Ref output);

/// `perm` of a Transpose if it is written out and does not come from the caller of an unknown function; else empty.
[[nodiscard]] std::vector<int64_t> written_permutation(const Node& node, const Call* call);

/// The value upstream of two Transposes that cancel, with the two nodes appended to `nodes`; empty if another kind of node produces `ref`.
[[nodiscard]] Ref upstream_of_transposes(const Side& side, Ref ref, std::vector<const Node*>& nodes);

/// The axes of a Squeeze or Unsqueeze as written, empty if it names none; nullopt: not known.
[[nodiscard]] std::optional<std::vector<int64_t>> written_axes(Side& side, Ref output);

/// As `upstream_of_transposes`, for a Squeeze of the axes that an Unsqueeze adds, or the one along which a Loop stacks one result.
[[nodiscard]] Ref upstream_of_squeeze(Side& side, Ref ref, std::vector<const Node*>& nodes);

}  // namespace relayout::proof
