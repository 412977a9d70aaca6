#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// The element types of an operator's operands and results, as ONNX's schema of that version defines them: each is fixed, or a variable
/// that several share.
class OpSignature {
 public:
  struct Port {
    int variable = -1;                     ///< index into allowed(); -1: none
    DataType fixed = DataType::undefined;  ///< if there is no variable; undefined: not a tensor, or each of a list has its own
  };
  [[nodiscard]] Port input(std::size_t index) const { return port(inputs_, index, repeats_input_); }
  [[nodiscard]] Port output(std::size_t index) const { return port(outputs_, index, repeats_output_); }
  /// Tensor element types that variable number `variable` may be.
  [[nodiscard]] TypeSet allowed(int variable) const { return element_at(allowed_, variable); }
  /// First version of the operator that has this signature.
  [[nodiscard]] int since() const noexcept { return since_; }

 private:
  friend class OpSignatures;
  static Port port(const std::vector<Port>& ports, std::size_t index, bool repeats) {
    if (index < ports.size()) return ports[index];
    return repeats ? ports.back() : Port{};
  }
  std::vector<Port> inputs_, outputs_;
  std::vector<TypeSet> allowed_;
  bool repeats_input_ = false, repeats_output_ = false;
  int since_ = 0;
};

/// Signatures by operator, read from the linked ONNX library on demand.
class OpSignatures {
 public:
  /// The signature of the default domain's operator at the opset of the node's model; nullptr for other domains and for unknown operators.
  [[nodiscard]] const OpSignature* find(const Node& node);
  /// The first opset whose version of the operator allows this type for input `index`, if one does.
  [[nodiscard]] static std::optional<int> first_opset(const std::string& op_type, std::size_t index, DataType type);

 private:
  std::unordered_map<std::string, std::unique_ptr<OpSignature>> known_;  ///< by name and opset
};

/// The element type of a node's output where it follows from the node alone, or the input whose type it has, or nothing.
[[nodiscard]] std::variant<std::monostate, DataType, const Value*> type_rule(const Node& node, int output_index);

/// The element type that the file states for a value: of the data of an initializer, or of its value_info; undefined where it states none.
[[nodiscard]] DataType declared_type(const Value& value);

/// Element types of all values of a graph and the graphs nested in it: from declared inputs, initializers and operators' signatures, else
/// from declared value_info.
class ElementTypes {
 public:
  ElementTypes(const Graph& graph, OpSignatures& signatures) : signatures_(signatures) { visit(graph); }
  /// undefined: not a tensor, or not known.
  [[nodiscard]] DataType of(const Value& value) const;

 private:
  void visit(const Graph& graph);
  [[nodiscard]] DataType output_type(const Node& node, int index);
  [[nodiscard]] DataType by_signature(const Node& node, int index);

  OpSignatures& signatures_;
  std::unordered_map<const Value*, DataType> types_;
};

class Model;
class Value;

/// The error message for a result whose operator produces another element type than the file declares.
[[nodiscard]] std::string type_conflict(const Value& result, DataType made);

/// Refuses a model that declares another element type for a result than its operator gives, as every program that checks types does. Types
/// pass through operators whose result has the type of an operand; operators without type rules are not checked. Linear in the model.
/// Throws Error{invalid}.
void check_declared_types(const Model& model);

}  // namespace relayout
