#pragma once

#include "relayout/datum.h"
#include "relayout/graph.h"

namespace relayout {

/// Declaration of one graph input or output: a tensor, a sequence, an optional or a map.
struct Port {
  std::string name;
  Datum::Kind kind = Datum::Kind::tensor;
  DataType type = DataType::undefined;  ///< element type of a tensor; undefined: not declared
  bool has_shape = false;
  Dims dims;                         ///< -1 where free
  std::vector<std::string> symbols;  ///< one per dim, "" where fixed or nameless
  std::vector<Port> element;         ///< one, of a sequence or optional; of a map those of keys and values

  /// The key of a dim's size: its symbol, or "input[axis]" for a dim without a symbol or with one that stands for "unknown".
  [[nodiscard]] std::string key(std::size_t axis) const;
};

/// Inputs that a caller must give, in order: those without an initializer of the same name.
[[nodiscard]] std::vector<Port> required_inputs(const Graph& graph);
/// Names of inputs with a default (IR 3: all initializers).
[[nodiscard]] std::vector<std::string> defaulted_inputs(const Graph& graph);
[[nodiscard]] std::vector<Port> output_ports(const Graph& graph);

/// "[N, 3, 224, 224]", "?" for a nameless free dim, "" without a declared shape.
[[nodiscard]] std::string shape_text(const Port& port);
/// "f32[N, 3]", "seq(f32[2])", "optional(i64)".
[[nodiscard]] std::string type_text(const Port& port);

}  // namespace relayout
