#pragma once

#include <unordered_map>

#include "ops/op_signature.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

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

}  // namespace relayout
