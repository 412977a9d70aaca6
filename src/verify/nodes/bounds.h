#pragma once

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>

#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/op_signature.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Numbers between which all elements of a value lie, whatever the inputs hold.
struct Bounds {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool operator==(const Bounds&) const = default;
};

/// Bounds of values as the definitions of operators give them: nothing behind a Sigmoid is below 0. NaN aside.
class ValueBounds {
 public:
  /// `masks`: inputs of zeros and ones; `kept`: inputs of integers that are sizes, counts, positions or ids.
  ValueBounds(const Graph& graph, std::set<std::string> masks, std::set<std::string> kept);

  [[nodiscard]] Bounds of(const Value& value);
  [[nodiscard]] const ElementTypes& types() const noexcept { return types_; }

 private:
  [[nodiscard]] Bounds find(const Value& value);
  [[nodiscard]] Bounds of_input(const Value& value) const;
  [[nodiscard]] Bounds of_result(const Node& node);
  [[nodiscard]] Bounds of_clip(const Node& node);
  [[nodiscard]] Bounds of_steps(const Node& node);
  [[nodiscard]] Bounds of_others(const Node& node);
  [[nodiscard]] Bounds of_arithmetic(const Node& node);
  [[nodiscard]] Bounds of_moved(const Node& node);
  [[nodiscard]] Bounds operand(const Node& node, std::size_t index);

  OpSignatures signatures_;
  ElementTypes types_;
  Constants constants_;
  std::set<std::string> masks_, kept_;
  std::unordered_map<const Value*, Bounds> known_;
  int depth_ = 0;
};

/// The bounds of the numbers that a type holds; of floating-point types, infinite.
[[nodiscard]] Bounds bounds_of_type(DataType type);

}  // namespace relayout
