#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// The range of numbers that were integers: results of a Cast from an integer type and of Range, moved, scaled by constants and added up.
/// The accumulators of a product of quantized numbers, positions and counts fill the range of their type, activations do not. A product
/// with an activation, such as a run-time scale, ends the way: its result is an activation. Nodes are noted in graph order.
class IntegerRanges {
 public:
  IntegerRanges(const ElementTypes& types, Constants& constants, DataType target) : types_(types), constants_(constants), target_(target) {}
  IntegerRanges(const IntegerRanges&) = delete;
  IntegerRanges& operator=(const IntegerRanges&) = delete;

  void note(const Node& node);
  /// The reason to keep the type of these operands of a node: they were integers, or its results are sums of such, and nothing tells that
  /// the target holds them.
  [[nodiscard]] std::optional<Skip> harm(const Node& node, std::span<const Value* const> operands);

 private:
  struct Range {
    Bounds bounds;
    bool was_integer = false;
  };
  [[nodiscard]] Range of(const Value& value);
  [[nodiscard]] Range of_result(const Node& node);
  [[nodiscard]] Bounds of_positions(const Node& node);
  [[nodiscard]] Range combined(const Node& node);
  [[nodiscard]] Range of_sum(const Node& node, const Range& operand);

  const ElementTypes& types_;
  Constants& constants_;
  DataType target_;
  std::unordered_map<const Value*, Range> known_;
};

}  // namespace relayout::passes
